package import MewBase
internal import MewLoop
package import MewWire

/// What is known about a leg right now.
package struct RelayLegStatus: Sendable, Equatable {
    package enum Phase: Sendable, Equatable {
        /// On its way to the relay, for the first time or again.
        case connecting
        /// The relay knows us since then, and forwards.
        case connected(since: Instant)
        /// The last try failed or ended; the next one is at that time.
        case waiting(until: Instant)
        case closed
    }

    /// What carries a leg.
    package enum Transport: String, Sendable {
        case http3 = "http/3"
        case webSocket = "websocket"

        var words: String {
            switch self {
            case .http3: "HTTP/3"
            case .webSocket: "WebSocket"
            }
        }
    }

    package let phase: Phase
    /// Nil while there is no connection.
    package let transport: Transport?
    /// Of the last ping; nil before the first pong.
    package let roundTrip: Duration?
    /// When that was.
    package let measured: Instant?
    /// Why there is no connection, or what the relay complains about; half a sentence for people.
    package let problem: String?
    /// What would help while there is no connection; half a sentence, nil when nothing is to be done.
    package let advice: String?
    /// How the last connection or try ended, as far as a person can do something about it; nil before the first end.
    package let lastFailure: DialError.RelayFailure?
    /// The same node ID is connected to this relay once more, and that connection gets the packets (NEEDS N-18).
    package let isSuperseded: Bool

    package var isConnected: Bool {
        if case .connected = phase { true } else { false }
    }
}

/// How one connection of a leg ended.
enum LegEnd: Error, Equatable {
    /// The relay could not be reached, or the connection broke.
    case stream(StreamFailure)
    /// The answer to the upgrade was no, or no relay's.
    case refused(String)
    /// It has no place for us now.
    case crowded(RelayCrowding)
    /// The relay does not let us in, and says why.
    case denied(String)
    /// The relay broke the protocol.
    case violation(String)
    /// It asks for a proof of our node key that it could pass on.
    case wantsWeakProof
    /// No pong in time.
    case silent
    /// It ended the connection, as far as one can tell in order.
    case ended
    /// We gave up trying from a network that is gone.
    case networkChanged

    var words: String {
        switch self {
        case .stream(let failure): failure.description
        case .refused(let reason): reason
        case .crowded(let crowding): "the relay \(crowding.words)"
        case .denied(let reason): "the relay does not admit us: \(reason.printable(limit: 120))"
        case .violation(let reason): reason
        case .wantsWeakProof:
            "the relay wants a proof of our node key that it could show to others as well; it is one that this device "
                + "did not name itself"
        case .silent: "the relay does not answer"
        case .ended: "the relay ended the connection"
        case .networkChanged: "the network has changed"
        }
    }

    init(_ refusal: LegUpgrade.Refusal) {
        self =
            switch refusal {
            case .reason(let reason): .refused(reason)
            case .crowded(let crowding): .crowded(crowding)
            }
    }
}

extension LegEnd {
    /// What a person has to know of it.
    var failure: DialError.RelayFailure {
        switch self {
        case .stream(.tls(.certificate)): .notBelieved
        case .stream(.tls(.notSpoken)): .otherScheme
        case .stream(.system(let error)) where error.kind == .networkUnreachable: .noNetwork
        case .stream(.lookup(let failure)): failure.cause == .noAddress ? .noSuchName : .outOfReach
        case .denied: .notAdmitted
        case .crowded: .full
        case .wantsWeakProof: .namedByOthers
        case .refused, .violation: .noRelay
        case .stream, .silent, .ended, .networkChanged: .outOfReach
        }
    }

    /// It is so until somebody changes something: another try within seconds ends alike.
    var isFinal: Bool {
        switch failure {
        case .notBelieved, .otherScheme, .notAdmitted, .namedByOthers, .noSuchName: true
        // A relay that restarts, or a proxy before it, may say any of these.
        case .full, .noRelay, .noNetwork, .outOfReach: false
        }
    }
}
