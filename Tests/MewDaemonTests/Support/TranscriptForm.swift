import MewBase
import MewWire

/// A message with everything taken out that differs from run to run: identifiers become their number in the order of
/// appearance, times become zero, directories one word. Two transcripts of the same session have equal forms.
struct TranscriptForm {
    private var numbers: [String: Int] = [:]

    private static let timeKeys: Set<String> = [
        "start", "end", "created", "completed", "created_at", "last_message_at",
    ]

    mutating func normalize(_ text: String) throws -> JSON {
        normalize(try JSON(parsing: text), key: "")
    }

    mutating func normalize(_ json: JSON, key: String) -> JSON {
        switch json {
        case .integer where Self.timeKeys.contains(key): .integer(0)
        case .string where key == "cwd": .string("CWD")
        case .string(let text): .string(replacingIdentifiers(in: text))
        case .array(let elements): .array(elements.map { normalize($0, key: key) })
        case .object(let object):
            .object(JSONObject(object.entries.map { (key: $0.key, value: normalize($0.value, key: $0.key)) }))
        case .null, .bool, .integer, .number: json
        }
    }

    /// Whole identifiers, with or without the `sess_` before them.
    private mutating func replacingIdentifiers(in text: String) -> String {
        let bare = text.hasPrefix("sess_") ? String(text.dropFirst(5)) : text
        guard bare.utf8.count == 26, bare.allSatisfy({ $0.isASCII && ($0.isUppercase || $0.isNumber) }) else {
            return text
        }
        let number = numbers[bare] ?? numbers.count
        numbers[bare] = number
        return "\(text.hasPrefix("sess_") ? "sess_" : "")#\(number)"
    }
}
