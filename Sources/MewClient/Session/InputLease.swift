internal import MewIdentity
public import MewWire

/// Who may type in a session, as far as this client has been told (spec/native-wire.md §2, `lease_state`).
///
///     unknown ──nobody──▶ free ──somebody──▶ held ──nobody──▶ free
///        ▲  └────────somebody─────────────────▲ │
///        └── the session is not live any more ──┘
///
/// A lease refuses words and commands of other devices, never their answers or cancels.
public enum InputLease: Sendable, Hashable {
    /// Nobody has said: the session is not live here, or its daemon knows no leases and everybody may type.
    case unknown
    /// Everybody may type.
    case free
    case held(Holder)

    public struct Holder: Sendable, Hashable {
        /// The device, by the name that the daemon knows it by. Not cleaned.
        public let by: By
        /// It is this device, whichever of its programs took it.
        public let isOurs: Bool
        /// When this client saw it taken; nil when it was held already before that.
        public let since: WallTime?

        public init(by: By, isOurs: Bool, since: WallTime?) {
            (self.by, self.isOurs, self.since) = (by, isOurs, since)
        }
    }

    public var holder: Holder? { if case .held(let holder) = self { holder } else { nil } }

    /// The device that keeps this one from typing.
    public var other: Holder? { holder.flatMap { $0.isOurs ? nil : $0 } }

    /// What the daemon says. It says it again after each attach and gap.
    ///
    /// - Parameter device: ours.
    mutating func told(_ by: By?, device: NodeID?, at now: WallTime) {
        guard let by else {
            self = .free
            return
        }
        self = .held(Holder(by: by, isOurs: by.node == device, since: since(by.node, now)))
    }

    private func since(_ node: NodeID, _ now: WallTime) -> WallTime? {
        switch self {
        case .unknown: nil
        case .free: now
        case .held(let holder): holder.by.node == node ? holder.since : now
        }
    }
}
