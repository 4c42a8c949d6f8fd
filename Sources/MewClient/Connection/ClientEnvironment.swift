public import MewBase
public import MewWire

/// What the client core is handed: it has no socket, clock, file or randomness of its own.
public struct ClientEnvironment: Sendable {
    public let dialer: any Dialer
    /// For waits: back-off and deadlines.
    public let clock: any Clock<Duration>
    /// For display and records only.
    public let wallClock: @Sendable () -> WallTime
    public let entropy: any Entropy
    public let store: any ClientStore
    public let diagnostics: any DiagnosticSink
    /// What the daemon is told this device is called.
    public let deviceName: String
    /// Name and version of this program, for people: `mew 0.1.0`.
    public let app: String
    public let clientKind: ClientKind

    public init(
        dialer: any Dialer, clock: any Clock<Duration>, wallClock: @escaping @Sendable () -> WallTime,
        entropy: any Entropy, store: any ClientStore, diagnostics: any DiagnosticSink = NoDiagnostics(),
        deviceName: String, app: String, clientKind: ClientKind
    ) {
        (self.dialer, self.clock, self.wallClock, self.entropy) = (dialer, clock, wallClock, entropy)
        (self.store, self.diagnostics) = (store, diagnostics)
        (self.deviceName, self.app, self.clientKind) = (deviceName, app, clientKind)
    }
}

/// How long the client waits for others. Each wait has one of these; what happens at the end is an error with its name.
public struct ClientDeadlines: Sendable {
    /// A dial over every route. Longer than the ten seconds one handshake may take.
    public var dial: Duration = .seconds(15)
    /// From the link to `remote_ready`.
    public var hello: Duration = .seconds(10)
    /// An answer to a reading request, or a receipt.
    public var reply: Duration = .seconds(15)
    /// From the first frame of a session channel to `caught_up`: a page may be large and the line slow.
    public var attach: Duration = .seconds(30)
    /// For a sign of life of a link that may have died while the app was in the background. Longer than any round trip, short
    /// enough for a person who looks at the screen.
    public var probe: Duration = .seconds(2)
    /// Beyond what `pair_pending` announces: the window closes there, not here.
    public var pairingGrace: Duration = .seconds(5)

    public init() {}
}

/// Runs `body`, but no longer than `limit`; nil when the time is over. The body is cancelled then and must return.
func within<Value: Sendable>(
    _ limit: Duration, on clock: any Clock<Duration>, _ body: @escaping @Sendable () async -> Value
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await body() }
        group.addTask {
            try? await clock.sleep(for: limit)
            return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        return first
    }
}
