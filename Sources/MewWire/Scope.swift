/// What a device may do (spec/mew-wire.md §2.4, spec/native-wire.md §5); each scope includes those before it.
public enum Scope: String, WireEnum, Sendable, Hashable, Comparable {
    case observe, collaborate, control

    private var rank: Int {
        switch self {
        case .observe: 0
        case .collaborate: 1
        case .control: 2
        }
    }

    public static func < (left: Scope, right: Scope) -> Bool { left.rank < right.rank }
}
