internal import MewBase
internal import MewWire

// What helps, as the log of a daemon and its first lines say it.

extension LegEnd {
    /// What whoever named the relay can do; half a sentence, nil when time alone helps.
    ///
    /// - Parameter delay: until it is tried again.
    func advice(again delay: Duration) -> String? {
        switch self {
        case .crowded:
            delay == .zero
                ? "it is tried again now" : "it is tried again in \(Int((delay.milliseconds / 1_000).rounded(.up))) s"
        case .stream, .refused, .denied, .violation, .wantsWeakProof, .silent: Self.advice(failure)
        case .ended, .networkChanged: nil
        }
    }

    private static func advice(_ failure: DialError.RelayFailure) -> String? {
        switch failure {
        case .notAdmitted: "check the token of --relay-token, or ask whoever runs the relay to let this node in"
        case .notBelieved:
            "check the relay's URL, or name the authority of its certificate with --relay-trust FILE"
        case .namedByOthers: "name it with --relay URL if you know who runs it"
        case .otherScheme:
            "try http:// in place of https://, which is for relays with a certificate"
        case .noSuchName: "check the name in the relay's URL"
        case .noRelay: "check the relay's URL and the key behind its #, or ask whoever runs the relay"
        case .full: nil
        case .outOfReach:
            "check that the relay runs and no firewall is in the way, or name another relay with --relay URL"
        case .noNetwork: "this machine has no network, or none that leads to the relay"
        }
    }
}
