import MewIdentity
import MewSession
import MewWire
internal import Synchronization

/// Everyone who is authenticated: stock connections and native control channels. They get what is marked A.
///
/// Bounded by the connections that the daemon admits.
final class ConnectionDirectory: Sendable {
    private struct State {
        var clients: [ClientID: SessionClient] = [:]
        var refresh: (@Sendable (SessionClient) -> Void)?
        var ownAttention: (@Sendable (SessionClient) -> DaemonMessage?)?
    }

    private let state = Mutex(State())

    /// Calls `refresh` for each client that lost part of what goes to everyone and has read the rest: it needs the lists anew.
    func whenLagging(_ refresh: (@Sendable (SessionClient) -> Void)?) {
        state.withLock { $0.refresh = refresh }
    }

    /// Asks `counts` for the open requests of a phone's own session after it was told those of another one, which it shows
    /// as its own (spec/mew-wire.md §5.8).
    func whenMisled(_ counts: (@Sendable (SessionClient) -> DaemonMessage?)?) {
        state.withLock { $0.ownAttention = counts }
    }

    func add(_ client: SessionClient) {
        state.withLock { $0.clients[client.id] = client }
    }

    func remove(_ client: SessionClient) {
        _ = state.withLock { $0.clients.removeValue(forKey: client.id) }
    }

    subscript(id: ClientID) -> SessionClient? { state.withLock { $0.clients[id] } }

    var count: Int { state.withLock { $0.clients.count } }

    /// In the order in which they came, so that a simulation repeats itself.
    var everyone: [SessionClient] {
        state.withLock { $0.clients.values.sorted { $0.id.number < $1.id.number } }
    }

    /// The native control channels of a device.
    func controls(of device: NodeID) -> [SessionClient] {
        everyone.filter { $0.role == .control && $0.node == device }
    }

    /// - Parameters:
    ///   - attached: the clients that hear the session which the message is about.
    ///   - upTo: the event that attached ones have with it.
    func broadcast(_ forms: inout FrameForms, attached: Set<ClientID> = [], upTo: SequenceNumber? = nil) {
        for client in everyone {
            let isAttached = attached.contains(client.id)
            guard let bytes = forms.bytes(for: client, isAttached: isAttached) else { continue }
            // An attached client's session catches it up; the others get the lists again.
            let push = client.push(bytes, .stream(upTo: isAttached ? upTo : nil))
            if case .overflowed = push, !isAttached, let refresh = state.withLock({ $0.refresh }) {
                client.whenDrained { refresh(client) }
            }
            guard forms.misleads(client, isAttached: isAttached),
                let counts = state.withLock({ $0.ownAttention })?(client)
            else { continue }
            client.push(DaemonFrame(counts), .stream(upTo: nil))
        }
    }
}
