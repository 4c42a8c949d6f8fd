import MewBase
import MewIdentity
import MewWire

/// Tells who types in a session, when it is another one than was told last.
///
/// A value that returns text; nothing here writes. After a loss nothing is told twice: what was told holds until the daemon says
/// something else.
struct LeaseWords {
    private let device: NodeID
    private var told: NodeID?

    /// - Parameter device: this one.
    init(device: NodeID) {
        self.device = device
    }

    /// Half a sentence; nil when nothing is new.
    mutating func news(_ holder: By?, _ names: inout DistinctNames) -> String? {
        guard holder?.node != told else { return nil }
        told = holder?.node
        guard let holder else { return "nobody is typing any more; everybody may" }
        let who = holder.node == device ? "this device" : names.name(of: holder)
        return "\(who) is typing; prompts of others are refused"
    }
}
