internal import MewBase

/// How many connections each source has, so that none takes what all share.
///
/// A source is an IPv4 /24 or an IPv6 /56. Entries exist only while a source has a connection, so there are never more of
/// them than connections.
struct SourceBudget {
    struct Source: Hashable {
        private let prefix: UInt64
        private let family: SocketAddress.Family

        init(_ address: SocketAddress) {
            family = address.family
            prefix = address.high >> (address.family == .ipv4 ? 40 : 8)
        }
    }

    enum Refusal: String {
        case connections, strangers, sourceConnections, sourceStrangers
    }

    private struct Count {
        var connections = 0
        var strangers = 0
    }

    private var sources: [Source: Count] = [:]
    private(set) var connections = 0
    private(set) var strangers = 0

    var sourceCount: Int { sources.count }

    /// One more connection, of a stranger; or why not.
    mutating func enter(_ source: Source, _ limits: RelayLimits) -> Refusal? {
        let count = sources[source] ?? Count()
        if connections >= limits.connections { return .connections }
        if strangers >= limits.strangers { return .strangers }
        if count.connections >= limits.connectionsPerSource { return .sourceConnections }
        if count.strangers >= limits.strangersPerSource { return .sourceStrangers }
        connections += 1
        strangers += 1
        sources[source] = Count(connections: count.connections + 1, strangers: count.strangers + 1)
        return nil
    }

    /// A stranger has proven who it is.
    mutating func admit(_ source: Source) {
        strangers -= 1
        sources[source]?.strangers -= 1
    }

    mutating func leave(_ source: Source, wasStranger: Bool) {
        if wasStranger { admit(source) }
        connections -= 1
        guard var count = sources[source] else { return }
        count.connections -= 1
        sources[source] = count.connections == 0 ? nil : count
    }
}
