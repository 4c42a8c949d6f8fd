import MewBase
import MewClient
import MewIdentity

/// The names of devices as a list shows them: one that stands there already gets the end of its node ID (`laptop-stio`), because
/// devices name themselves and two may choose the same.
struct DistinctNames {
    private var names: [NodeID: String] = [:]

    /// - Parameter devices: in the order of the list.
    init(_ devices: [(node: NodeID, name: String)]) {
        var taken: Set<String> = []
        for device in devices {
            let name = device.name.printableName
            let isNew = taken.insert(name.lowercased()).inserted
            names[device.node] = isNew ? name : "\(name)-\(device.node.shortEnding)"
        }
    }

    subscript(node: NodeID) -> String { names[node] ?? String(node.z32.prefix(8)) }

    /// The device that the list shows under this name.
    func node(shownAs name: String) -> NodeID? { names.first { $0.value == name }?.key }
}
