import MewBase
import MewClient
import MewIdentity

/// The names of devices as a list shows them, no two alike: devices name themselves, and two may choose the same. The second one
/// gets a longer name, and none that is a device's own.
struct DistinctNames {
    private var names: [NodeID: String] = [:]

    /// - Parameter devices: in the order of the list.
    init(_ devices: [(node: NodeID, name: String)]) {
        let own = Set(devices.map { $0.name.printableName.lowercased() })
        var (shown, longer): (Set<String>, Set<String>) = ([], [])
        for (node, name) in devices.map({ ($0.node, $0.name.printableName) }) {
            let isNew = shown.insert(name.lowercased()).inserted
            let unique = isNew ? name : UniqueName.of(name, for: node, besides: own.union(longer))
            if !isNew { longer.insert(unique.lowercased()) }
            names[node] = unique
        }
    }

    subscript(node: NodeID) -> String { names[node] ?? String(node.z32.prefix(8)) }
}
