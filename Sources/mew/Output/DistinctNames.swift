import MewBase
import MewClient
import MewIdentity
import MewWire

/// The names of devices as a list or a screen shows them, no two alike: devices name themselves, and two may choose the same. The
/// second one gets a longer name, and none that is a device's own.
struct DistinctNames {
    private var names: [NodeID: String] = [:]
    /// What each calls itself, as far as that was shown.
    private var own: [NodeID: String] = [:]

    /// - Parameter devices: in the order of the list.
    init(_ devices: [(node: NodeID, name: String)]) {
        let own = Set(devices.map { $0.name.printableName.lowercased() })
        var (shown, longer): (Set<String>, Set<String>) = ([], [])
        for (node, name) in devices.map({ ($0.node, $0.name.printableName) }) {
            let isNew = shown.insert(name.lowercased()).inserted
            let unique = isNew ? name : UniqueName.of(name, for: node, besides: own.union(longer))
            if !isNew { longer.insert(unique.lowercased()) }
            (names[node], self.own[node]) = (unique, name)
        }
    }

    /// One that may turn up only now: what is on the screen already stays as it is.
    mutating func name(of by: By) -> String {
        let name = by.name.printableName
        if own[by.node] == name, let shown = names[by.node] { return shown }
        let others = names.filter { $0.key != by.node }
        let unique = UniqueName.of(name, for: by.node, besides: Set(others.values.map { $0.lowercased() }))
        (names[by.node], own[by.node]) = (unique, name)
        return unique
    }

    subscript(node: NodeID) -> String { names[node] ?? String(node.z32.prefix(8)) }
}
