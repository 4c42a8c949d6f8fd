package import MewWire

/// The form of one message type: which fields it has, in order, and one text in which each of them has a value.
///
/// Written from spec/mew-wire.md §3 and spec/native-wire.md §2, not from the code, and kept as a promise to every peer: a field
/// may be added to a notation, none may change.
package struct WireForm: Sendable, CustomStringConvertible {
    package enum Presence: Sendable, Equatable {
        /// `name`.
        case required
        /// `name?`: left out when there is no value.
        case optional
        /// `name~`: written as null when there is no value.
        case nullable
        /// `name=value`: written with this value when there is none.
        case defaulted(JSON)
    }

    package struct Field: Sendable {
        package let name: String
        package let presence: Presence
        package let isNative: Bool
    }

    package let type: String
    /// On `mew/wire/1` only.
    package let isNativeOnly: Bool
    /// In wire order, `type` not counted.
    package let fields: [Field]
    /// With a value for every field.
    package let text: String

    /// - Parameter notation: the type, its stock fields, `|`, its native fields; `!` before a type that is native only.
    init(_ notation: String, _ text: String) {
        let words = notation.split(separator: " ").map(String.init)
        isNativeOnly = notation.hasPrefix("!")
        type = isNativeOnly ? String(words[0].dropFirst()) : words[0]
        let bar = words.firstIndex(of: "|") ?? words.count
        fields = words.indices.dropFirst().filter { $0 != bar }.map { Field(words[$0], isNative: $0 > bar) }
        self.text = text
    }

    package var description: String { type }
}

extension WireForm.Field {
    init(_ word: String, isNative: Bool) {
        self.isNative = isNative
        if let equals = word.firstIndex(of: "="), let value = try? JSON(parsing: String(word[equals...].dropFirst())) {
            (name, presence) = (String(word[..<equals]), .defaulted(value))
        } else if word.hasSuffix("?") {
            (name, presence) = (String(word.dropLast()), .optional)
        } else if word.hasSuffix("~") {
            (name, presence) = (String(word.dropLast()), .nullable)
        } else {
            (name, presence) = (word, .required)
        }
    }
}
