import MewIdentity
import MewWire

/// Reads the fields of one line of the control protocol; what is missing or of another kind is `bad_input` by name.
struct ControlFields {
    private let json: JSON

    init(_ json: JSON) {
        self.json = json
    }

    /// Null is none.
    func optionalObject(_ key: String) -> JSON? { json[key].flatMap { $0.asObject == nil ? nil : $0 } }

    func text(_ key: String) throws(ControlError) -> String {
        guard let value = json[key]?.asString else { throw .badField(key) }
        return value
    }

    func optionalText(_ key: String) -> String? { json[key]?.asString }

    func integer(_ key: String) throws(ControlError) -> Int64 {
        guard let value = json[key]?.asInteger else { throw .badField(key) }
        return value
    }

    func texts(_ key: String) throws(ControlError) -> [String] {
        guard let values = json[key]?.asArray else { throw .badField(key) }
        return values.compactMap(\.asString)
    }

    /// Empty when an older daemon does not know of them.
    func optionalTexts(_ key: String) -> [String] { json[key]?.asArray?.compactMap(\.asString) ?? [] }

    func optionalNumber(_ key: String) -> Double? { json[key]?.asDouble }

    func optionalInteger(_ key: String) -> Int64? { json[key]?.asInteger }

    func flag(_ key: String) throws(ControlError) -> Bool {
        guard let value = json[key]?.asBool else { throw .badField(key) }
        return value
    }

    func node(_ key: String) throws(ControlError) -> NodeID {
        guard let value = NodeID(hex: try text(key)) else { throw .badField(key) }
        return value
    }

    func optionalNode(_ key: String) throws(ControlError) -> NodeID? {
        guard let value = json[key], !value.isNull else { return nil }
        return try node(key)
    }

    func scope(_ key: String) throws(ControlError) -> Scope {
        guard let value = Scope(rawValue: try text(key)) else { throw .badField(key) }
        return value
    }

    func knock(_ key: String) throws(ControlError) -> KnockNumber {
        guard let value = Int(exactly: try integer(key)) else { throw .badField(key) }
        return KnockNumber(value)
    }

    func list(_ key: String) throws(ControlError) -> [ControlFields] {
        guard let values = json[key]?.asArray else { throw .badField(key) }
        return values.map(ControlFields.init)
    }

    /// Empty when an older daemon does not know of it.
    func optionalList(_ key: String) -> [ControlFields] { json[key]?.asArray?.map(ControlFields.init) ?? [] }

    func object(_ key: String) throws(ControlError) -> ControlFields {
        guard let value = json[key], value.asObject != nil else { throw .badField(key) }
        return ControlFields(value)
    }
}

/// A refusal of the daemon, or why it could not be asked. The codes are those of spec/native-wire.md §4.
package struct ControlError: Error, Equatable, Sendable, CustomStringConvertible {
    package let code: String
    /// One sentence for people: what was tried, what stopped it, one thing to do.
    package let message: String

    package init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    static func badField(_ name: String) -> ControlError {
        ControlError(code: "bad_input", message: "the field \(name) is missing or wrong")
    }
}
