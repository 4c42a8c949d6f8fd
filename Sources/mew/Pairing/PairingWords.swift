import MewBase
import MewDaemon
import MewIdentity

/// Events of a window that only need telling.
struct PairingWords {
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
