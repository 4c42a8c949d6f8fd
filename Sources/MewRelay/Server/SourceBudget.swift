internal import MewBase

/// How many connections each source has, so that none takes what all share.
///
/// A source is an IPv4 /24 or an IPv6 /56. Entries exist only while a source has a connection, so there are never more of
/// them than connections.
struct SourceBudget {
    typealias Source = SourceNetwork

    enum Refusal: String {
        case connections, strangers, sourceConnections, sourceStrangers
    }

    private struct Count {
        var connections = 0
        var strangers = 0
        var turnedAway = 0

        var isEmpty: Bool { connections == 0 && turnedAway == 0 }
    }

    private var sources: [Source: Count] = [:]
    private(set) var connections = 0
    private(set) var strangers = 0
    private var turnedAway = 0

    var sourceCount: Int { sources.count }

    /// One more connection, of a stranger; or why not.
    mutating func enter(_ source: Source, _ limits: RelayLimits) -> Refusal? {
        var count = sources[source] ?? Count()
        if connections >= limits.connections { return .connections }
        if strangers >= limits.strangers { return .strangers }
        if count.connections >= limits.connectionsPerSource { return .sourceConnections }
        if count.strangers >= limits.strangersPerSource { return .sourceStrangers }
        connections += 1
        strangers += 1
        count.connections += 1
        count.strangers += 1
        sources[source] = count
        return nil
    }

    /// One that gets no place may hear why; false when too many are hearing that.
    mutating func turnAway(_ source: Source, _ limits: RelayLimits) -> Bool {
        var count = sources[source] ?? Count()
        guard turnedAway < limits.turnedAway, count.turnedAway < limits.turnedAwayPerSource else { return false }
        turnedAway += 1
        count.turnedAway += 1
        sources[source] = count
        return true
    }

    mutating func leaveTurnedAway(_ source: Source) {
        turnedAway -= 1
        guard var count = sources[source] else { return }
        count.turnedAway -= 1
        sources[source] = count.isEmpty ? nil : count
    }

    mutating func leave(_ connection: RelayConnection) {
        guard connection.turnedAway == nil else { return leaveTurnedAway(connection.source) }
        leave(connection.source, wasStranger: connection.isStranger)
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
        sources[source] = count.isEmpty ? nil : count
    }
}
