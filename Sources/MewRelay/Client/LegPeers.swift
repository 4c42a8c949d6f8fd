internal import MewBase
internal import MewIdentity

/// The numbers by which a carrier names the nodes behind a relay. A number is never given to a second node.
struct LegPeers {
    private var numbers: [NodeID: UInt64] = [:]
    private var peers: [UInt64: (node: NodeID, used: Instant)] = [:]
    private var last: UInt64 = 0

    /// As many as a node has connections and strangers together; beyond it, those that were used longest ago are forgotten.
    /// A connection of theirs that lives still sends again, and has a new number from then on.
    static let maxCount = 4_096

    var count: Int { peers.count }

    mutating func number(of node: NodeID, now: Instant) -> UInt64 {
        if let number = numbers[node] {
            peers[number]?.used = now
            return number
        }
        if peers.count >= Self.maxCount { forgetOldest() }
        last += 1
        numbers[node] = last
        peers[last] = (node, now)
        return last
    }

    /// Nil for a node that nothing was sent to or heard from.
    func known(_ node: NodeID) -> UInt64? { numbers[node] }

    mutating func node(_ number: UInt64, now: Instant) -> NodeID? {
        peers[number]?.used = now
        return peers[number]?.node
    }

    /// An eighth at once, so that a flood of new names does not make each of them a search.
    private mutating func forgetOldest() {
        let oldest = peers.sorted { ($0.value.used, $0.key) < ($1.value.used, $1.key) }.prefix(Self.maxCount / 8)
        for (number, peer) in oldest {
            peers[number] = nil
            numbers[peer.node] = nil
        }
    }
}
