internal import CQuic

/// The peer's connection IDs that are in use, with the reset tokens the peer gave for them.
///
/// We compare reset tokens ourselves: ngtcp2 1.11 also matches those of retired IDs, which kills a connection that has
/// just migrated (spec/iroh-wire.md §3.3).
struct PeerConnectionIDs {
    private struct Entry {
        let id: ForeignConnectionID
        let token: ResetToken?
    }

    /// At most one per path being used or probed, so a handful.
    private var active: [Entry] = []

    mutating func note(_ cid: ngtcp2_cid, token: UnsafePointer<UInt8>?, isActive: Bool) {
        let id = ForeignConnectionID(cid)
        active.removeAll { $0.id == id }
        guard isActive else { return }
        let token = token.flatMap { ResetToken(UnsafeRawBufferPointer(start: $0, count: ResetToken.byteCount)) }
        active.append(Entry(id: id, token: token))
    }

    /// Of all IDs in use.
    var tokens: [ResetToken] { active.compactMap(\.token) }

    func token(for cid: ngtcp2_cid) -> ResetToken? {
        let id = ForeignConnectionID(cid)
        return active.first { $0.id == id }?.token
    }
}
