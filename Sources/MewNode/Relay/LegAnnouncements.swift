import MewBase
import MewIdentity
import MewQUIC
import MewRelay

/// Shows the listener of one dialled connection the relays through which it can call us, each time one begins to forward. A
/// listener knows only where packets have come from, and a connection that has been direct from the start came from no relay.
struct LegAnnouncements: Sendable {
    let connection: Connection
    let peer: NodeID

    /// Returns when the leg is closed or the task cancelled.
    func run(_ joined: NodeRelays.Joined) async {
        var since: Instant?
        while let next = await joined.leg.connected(after: since) {
            since = next
            await connection.announce(await joined.route(to: peer))
        }
    }
}
