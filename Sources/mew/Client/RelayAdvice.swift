import MewWire

extension DialError.RelayFailure {
    /// One thing to do about it, with the options that commands have; a whole sentence.
    var hint: String {
        switch self {
        case .notAdmitted: "Give the relay's token with --relay-token TEXT, or ask whoever runs it to let you in."
        case .notBelieved:
            "Check the relay's URL, or name the authority of its certificate with --relay-trust FILE."
        case .namedByOthers: "If you know who runs the relay, name it with --relay URL."
        case .otherScheme:
            "Try http:// in place of https://, which is for relays with a certificate."
        case .noSuchName: "Check the name in the relay's URL."
        case .noRelay: "Check the relay's URL and the key behind its #, or ask whoever runs the relay."
        case .full: "Try again later, or name another relay with --relay URL."
        case .outOfReach:
            "Check that the relay runs and no firewall is in the way, or name another relay with --relay URL."
        case .noNetwork: "This machine has no network, or none that leads to the relay."
        }
    }
}
