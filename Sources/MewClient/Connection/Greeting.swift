internal import MewBase
public import MewWire

/// A connection on which the daemon has accepted this device.
public struct ReadyLink: Sendable, Hashable {
    public let applicationProtocol: ApplicationProtocol
    /// What this device may do; nil at a stock daemon that has no scopes.
    public let scope: Scope?
    /// What both sides can do; empty on stock links.
    public let capabilities: Set<String>
    /// New at each start of the daemon.
    public let bootID: BootID?
    /// What the daemon calls this device.
    public let deviceName: String?
    /// What we must call ourselves there: stock daemons insist (spec/mew-wire.md §2.5, D2).
    let clientKind: ClientKind

    public var isNative: Bool { applicationProtocol == .native }
}

/// The first exchange on a new link: hello, and what may be answered (spec/mew-wire.md §2.4 and §5.1, spec/native-wire.md §1).
///
/// Pure value: it reads the daemon's messages in order and says when the link is ready.
///
///     hello sent ──remote_ready──▶ ready
///        │  └─pair_pending─▶ pending ──remote_ready──▶ ready
///        └─error─▶ refused (natively the close code that follows says more)
struct Greeting {
    enum Step: Equatable {
        case wait
        case ready(ReadyLink)
        /// A person at the daemon has to confirm this device.
        case pairPending(expiresInSeconds: UInt64)
        case refused(ConnectionRefusal)
    }

    /// What we can do.
    static let capabilities = mandatory + [DaemonSupervisor.leaseCapability]
    /// What both sides must be able to do.
    static let mandatory = ["ops", "resume", "desk"]
    /// A stock daemon without `--remote` says this to every hello, and serves us all the same.
    private static let legacySentence = "remote authentication is only available over iroh"

    let applicationProtocol: ApplicationProtocol
    let clientKind: ClientKind
    let hasToken: Bool
    /// A person wants this device to be let in; otherwise waiting for somebody there would be a surprise at both ends.
    let pairs: Bool
    /// Said before the link was closed; the reason text of the close is often shorter.
    private(set) var complaint: String?
    private var complaintCode: ErrorCode?
    private(set) var revocation: DaemonMessage.Revoked?

    init(applicationProtocol: ApplicationProtocol, clientKind: ClientKind, hasToken: Bool, pairs: Bool) {
        (self.applicationProtocol, self.clientKind) = (applicationProtocol, clientKind)
        (self.hasToken, self.pairs) = (hasToken, pairs)
    }

    mutating func receive(_ message: DaemonMessage) -> Step {
        switch message {
        case .remoteReady(let ready):
            return accepted(ready)
        case .pairPending(let pending):
            guard pairs || hasToken else { return .refused(.unauthorized("")) }
            return .pairPending(expiresInSeconds: min(pending.expiresInSeconds, 3_600))
        case .revoked(let revoked):
            revocation = revoked
            return .wait
        case .error(let error):
            return complained(error)
        default:
            return .wait  // broadcasts may come early
        }
    }

    private func accepted(_ ready: DaemonMessage.RemoteReady) -> Step {
        guard applicationProtocol == .native else {
            return .ready(link(scope: ready.scope, capabilities: [], ready: ready, kind: .remote))
        }
        let common = Set(ready.capabilities ?? []).intersection(Self.capabilities)
        let missing = Self.mandatory.filter { !common.contains($0) }
        guard missing.isEmpty else {
            return .refused(.incompatible("the daemon cannot do \(missing.joined(separator: ", ")); update it"))
        }
        return .ready(link(scope: ready.scope, capabilities: common, ready: ready, kind: clientKind))
    }

    private mutating func complained(_ error: DaemonMessage.ErrorReply) -> Step {
        complaint = error.message.printable(limit: 200)
        complaintCode = error.code
        if applicationProtocol == .stock {
            if error.message == Self.legacySentence {
                return .ready(link(scope: nil, capabilities: [], ready: nil, kind: .mobile))
            }
            let text = complaint ?? ""
            return .refused(hasToken ? .pairingRefused(text) : .unauthorized(text))
        }
        return .wait
    }

    private func link(
        scope: Scope?, capabilities: Set<String>, ready: DaemonMessage.RemoteReady?, kind: ClientKind
    ) -> ReadyLink {
        ReadyLink(
            applicationProtocol: applicationProtocol, scope: scope, capabilities: capabilities, bootID: ready?.bootID,
            deviceName: ready?.you?.name.printableName, clientKind: kind)
    }

    /// The end of a link that did not get ready, with what was said before it.
    func end(_ end: ConnectionEnd) -> ConnectionEnd {
        switch end {
        case .refusal(.revoked(let at, let reason)):
            .refusal(.revoked(at: revocation?.at ?? at, reason: revocation?.reasonText ?? complaint ?? reason))
        case .refusal(.unauthorized(let reason)): .refusal(.unauthorized(complaint ?? reason))
        case .refusal(.pairingRefused(let reason, let code)):
            .refusal(.pairingRefused(complaint ?? reason, complaintCode ?? code))
        case .refusal(.incompatible(let reason)): .refusal(.incompatible(complaint ?? reason))
        case .refusal(.wrongNode), .trouble, .stopped: end
        }
    }
}

extension DaemonMessage.Revoked {
    /// Fit for a screen.
    var reasonText: String { reason.printable(limit: 200) }
}
