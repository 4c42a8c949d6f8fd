import MewIdentity
import MewWire

extension Command {
    static let id = Command(
        "id", "show this node's ID",
        details: [
            "The node ID is the public half of the key in the state directory. It is no secret: knowing it lets others dial "
                + "this node, not enter it. --json also tells it in hexadecimal."
        ]
    ) { invocation async throws(CommandFailure) in
        let node = try invocation.context.key().node
        let output = invocation.context.output
        output.json(["node_id": .string(node.z32), "hex": .string(node.hex)])
        output.line(node.z32)
        return .ok
    }
}
