/// One thing that happened inside, for logs, metrics and test assertions (DESIGN §13).
///
/// A diagnostic never holds a secret, a prompt or the contents of a file. Strings that came from a peer are cleaned
/// where they are written to a terminal or a log, not here.
public struct Diagnostic: Sendable {
    public enum Level: Int, Comparable, Sendable, CaseIterable {
        case debug, info, warning, error

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    public enum Value: Sendable, Equatable {
        case text(String)
        case integer(Int64)
        case duration(Duration)
        case flag(Bool)
    }

    public let level: Level
    /// The part that speaks: `quic`, `session`, `pairing`, `store`, …
    public let component: String
    /// A stable name in snake_case; metrics and tests match on it.
    public let name: String
    /// One sentence for people.
    public let message: String
    public let fields: [String: Value]

    public init(
        _ level: Level, _ component: String, _ name: String, _ message: String, _ fields: [String: Value] = [:]
    ) {
        self.level = level
        self.component = component
        self.name = name
        self.message = message
        self.fields = fields
    }
}

/// Takes diagnostics. Called on whatever thread the event happened on; must not block.
public protocol DiagnosticSink: Sendable {
    /// False lets a caller skip building an event nobody wants.
    func wants(_ level: Diagnostic.Level) -> Bool
    func record(_ diagnostic: Diagnostic)
}

extension DiagnosticSink {
    public func record(ifWanted level: Diagnostic.Level, _ make: () -> Diagnostic) {
        if wants(level) { record(make()) }
    }
}

/// Drops everything.
public struct NoDiagnostics: DiagnosticSink {
    public init() {}
    public func wants(_ level: Diagnostic.Level) -> Bool { false }
    public func record(_ diagnostic: Diagnostic) {}
}
