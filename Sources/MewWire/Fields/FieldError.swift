/// Which field of a message is wrong and how: the sentence of a `bad_input` answer. Quotes no content of the message.
public struct FieldError: Error, Equatable, Sendable, CustomStringConvertible {
    /// `sessions[3].usage.cost`; empty for the message itself.
    public private(set) var path: String
    /// `is missing`, `must be an integer, not a string`, …
    public let problem: String

    package init(_ problem: String, path: String = "") {
        (self.path, self.problem) = (path, problem)
    }

    public var description: String { "\(path.isEmpty ? "the message" : path) \(problem)" }

    static func wrongKind(_ found: JSON, wanted: String) -> FieldError {
        FieldError("must be \(wanted), not \(found.kindName)")
    }

    /// The same error seen from one level further out.
    func inside(_ key: String) -> FieldError {
        FieldError(problem, path: path.isEmpty || path.hasPrefix("[") ? key + path : "\(key).\(path)")
    }

    func inside(index: Int) -> FieldError { inside("[\(index)]") }
}
