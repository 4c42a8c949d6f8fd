import MewBase
import MewDaemon
import MewIdentity

/// What stands below the command for the other machine, and events of a window that only need telling.
struct PairingWords {
    /// What the command has to be given besides: a token is no part of the payload, and is not printed.
    static func tokens(_ window: ControlWindow) -> [String] {
        guard !window.tokenRelays.isEmpty else { return [] }
        let relays = window.tokenRelays.map { "--relay \(shellQuoted($0)) " }.joined()
        return [
            "The relay is shown a token, which the code does not hold. Add it, unless the relay lets that machine in without:",
            "", "  \(relays)--relay-token TOKEN", "",
        ]
    }

    let sentence: String?

    init(_ event: PairingEvent) {
        sentence =
            switch event {
            case .turnedAway(let node, let reason):
                "\(node.z32.prefix(8))… was turned away (\(reason.printable(limit: 60)))"
            case .wrongCode(let node, let tries):
                "\(node.z32.prefix(8))… brought a wrong code (\(Words.count(tries, "time")))"
            case .shutOut(let node): "\(node.z32.prefix(8))… is shut out: too many wrong codes"
            case .slowed(let source):
                "wrong codes from \(source.printable(limit: 80)) are answered slowly from now on"
            case .notSaved: "the code was right, but the device could not be saved; the code still works"
            case .usedAgain(let node): "\(node.z32.prefix(8))… brought the code after it was used"
            case .knock, .knockLeft, .paired, .noSuchKnock, .expired, .closed: nil
            }
    }
}
