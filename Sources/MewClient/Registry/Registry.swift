public import MewIdentity

/// The daemons this device knows, in the order they were added. A value: `ClientStore` keeps it.
public struct Registry: Hashable, Sendable {
    public private(set) var daemons: [DaemonRecord] = []

    /// A person has a few; a script gone wrong must not fill the disk.
    public static let maxDaemons = 256

    public init() {}

    /// Daemons that were stored: already unique.
    init(_ daemons: [DaemonRecord]) {
        self.daemons = Array(daemons.prefix(Self.maxDaemons))
    }

    public enum Refusal: Error, Hashable, Sendable {
        case full
        case unknown
        /// Another daemon has this name.
        case nameTaken(String)
        /// The name cannot be told from an option, a list number or a node ID.
        case unusableName(String)
    }

    public subscript(node: NodeID) -> DaemonRecord? { daemons.first { $0.node == node } }

    public func named(_ name: String) -> DaemonRecord? {
        daemons.first { $0.name == name } ?? onlyOne(daemons.filter { $0.name.lowercased() == name.lowercased() })
    }

    private func onlyOne(_ matches: [DaemonRecord]) -> DaemonRecord? { matches.count == 1 ? matches[0] : nil }

    /// Adds a daemon, or brings a known one up to date: what is new replaces, what is absent stays.
    ///
    /// A name that is taken gets the end of the node ID (`desk-stio`).
    @discardableResult
    public mutating func add(_ record: DaemonRecord, renames: Bool = false) throws(Refusal) -> DaemonRecord {
        // A relay wants one thing of this device, whichever daemon is behind it.
        for access in record.relayAccess {
            for index in daemons.indices
            where daemons[index].relayAccess.contains(where: { $0.isForSameRelay(as: access) }) {
                daemons[index].keep(access)
            }
        }
        if let index = daemons.firstIndex(where: { $0.node == record.node }) {
            merge(record, at: index, renames: renames)
            return daemons[index]
        }
        guard daemons.count < Self.maxDaemons else { throw .full }
        var added = record
        added.name = unique(DaemonName.usable(record.name, for: record.node), for: record.node)
        daemons.append(added)
        return added
    }

    private mutating func merge(_ record: DaemonRecord, at index: Int, renames: Bool) {
        if renames {
            daemons[index].name = unique(DaemonName.usable(record.name, for: record.node), for: record.node)
        }
        for address in record.addresses.reversed() { daemons[index].prefer(address) }
        daemons[index].addedAgain(relays: record.relays, named: record.namedRelays)
        for access in record.relayAccess.reversed() { daemons[index].keep(access) }
        daemons[index].token = record.token ?? daemons[index].token
        daemons[index].scope = record.scope ?? daemons[index].scope
    }

    /// `name`, or when another daemon has it, with the end of the ID of `node` behind it.
    private func unique(_ name: String, for node: NodeID) -> String {
        UniqueName.of(name, for: node, besides: Set(daemons.filter { $0.node != node }.map { $0.name.lowercased() }))
    }

    public mutating func rename(_ node: NodeID, to name: String) throws(Refusal) {
        guard let index = daemons.firstIndex(where: { $0.node == node }) else { throw .unknown }
        guard DaemonName.usable(name, for: node) == name else { throw .unusableName(name) }
        guard unique(name, for: node) == name else { throw .nameTaken(name) }
        daemons[index].name = name
    }

    @discardableResult
    public mutating func forget(_ node: NodeID) throws(Refusal) -> DaemonRecord {
        guard let index = daemons.firstIndex(where: { $0.node == node }) else { throw .unknown }
        return daemons.remove(at: index)
    }

    /// Changes what is known about a daemon; one that was forgotten meanwhile stays forgotten.
    public mutating func update(_ node: NodeID, _ change: (inout DaemonRecord) -> Void) {
        guard let index = daemons.firstIndex(where: { $0.node == node }) else { return }
        let name = daemons[index].name
        change(&daemons[index])
        daemons[index].name = name
    }
}
