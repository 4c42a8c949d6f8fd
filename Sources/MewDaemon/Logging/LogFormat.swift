package import MewBase
import MewWire

/// How a diagnostic becomes one line on stderr (DESIGN §13).
///
/// Whatever came from a peer passes `printable` here, so that no log line can move a cursor or fake another line.
package enum LogFormat: Sendable {
    /// `2026-03-01T14:02:09.250Z info    pairing: Ada's phone knocks (node=…)`
    case human
    /// One JSON object.
    case json

    /// Longer texts are cut: a log line is no place for content.
    static let maxTextScalars = 400

    /// - Parameter atMs: milliseconds since the Unix epoch.
    /// - Returns: the line without its line feed.
    package func line(_ diagnostic: Diagnostic, atMs: UInt64) -> String {
        switch self {
        case .human: Self.humanLine(diagnostic, atMs: atMs)
        case .json: Self.jsonLine(diagnostic, atMs: atMs)
        }
    }

    private static func humanLine(_ diagnostic: Diagnostic, atMs: UInt64) -> String {
        let fields = diagnostic.fields.sorted { $0.key < $1.key }
            .map { "\($0.key)=\(text($0.value))" }
            .joined(separator: " ")
        let level = "\(diagnostic.level)".padded(to: 7)
        let message = diagnostic.message.printable(limit: maxTextScalars)
        return "\(UTCTime(milliseconds: atMs)) \(level) \(diagnostic.component): \(message)"
            + (fields.isEmpty ? "" : " (\(fields))")
    }

    private static func jsonLine(_ diagnostic: Diagnostic, atMs: UInt64) -> String {
        var object = JSONObject()
        object["at"] = .string(UTCTime(milliseconds: atMs).description)
        object["level"] = .string("\(diagnostic.level)")
        object["component"] = .string(diagnostic.component)
        object["name"] = .string(diagnostic.name)
        object["message"] = .string(diagnostic.message.printable(limit: maxTextScalars))
        for (key, value) in diagnostic.fields.sorted(by: { $0.key < $1.key }) where object[key] == nil {
            object[key] = json(value)
        }
        return JSON.object(object).text
    }

    private static func text(_ value: Diagnostic.Value) -> String {
        switch value {
        case .text(let text): text.printable(limit: maxTextScalars)
        case .integer(let number): String(number)
        case .duration(let duration): "\(duration.milliseconds)ms"
        case .flag(let flag): String(flag)
        }
    }

    private static func json(_ value: Diagnostic.Value) -> JSON {
        switch value {
        case .text(let text): .string(text.printable(limit: maxTextScalars))
        case .integer(let number): .integer(number)
        case .duration(let duration): .number(duration.milliseconds)
        case .flag(let flag): .bool(flag)
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
