import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// Every state of an admission met by every event, for both protocols and every standing. Whoever changes a transition sees
/// the line change.
@Suite("Admission, the whole table")
struct AdmissionTableTests {
    private static let standings: [(String, Admission.Standing)] = [
        ("stranger", .stranger(mayEnter: true)), ("revoked", .revoked(mayEnter: true, reason: "revoked")),
        ("known", .known),
    ]

    private static let hello = said(code: nil, asks: false)
    private static let knock = said(code: nil, asks: true)
    private static let liveCode = said(code: Pairing.code, asks: false)

    private static func said(code: PairingDigest?, asks: Bool) -> Admission.Event {
        .greeted(
            .hello(
                .init(
                    name: "n", code: code, codeIsLive: code != nil, capabilities: Admission.mandatoryCapabilities,
                    asksToPair: asks)))
    }

    private static let events: [(String, Admission.Event)] = [
        ("hello", hello), ("knock", knock), ("hello, live code", liveCode), ("other message", .greeted(.otherMessage)),
        ("nonsense", .greeted(.undecodable)), ("channel ended", .ended), ("another channel", .channel),
        ("held", .held(expiresIn: .seconds(9))), ("admitted", .admitted), ("refused", .refused(.wrongCode)),
    ]

    /// The ways into each state that a stranger and a known device have.
    private static let states: [(String, [Admission.Event])] = [
        ("greeting", []), ("judged", [liveCode]), ("ready", [liveCode, .admitted]), ("closed", [.ended]),
    ]

    @Test("every state, standing and event", arguments: ApplicationProtocol.allCases)
    func wholeTable(applicationProtocol: ApplicationProtocol) {
        var lines: [String] = []
        for (state, path) in Self.states {
            for (name, standing) in Self.standings {
                for (label, event) in Self.events {
                    var admission = Admission(applicationProtocol, standing: standing, acceptedAt: Pairing.start)
                    for step in path { _ = admission.receive(step) }
                    let actions = admission.receive(event).map(Self.text)
                    guard !actions.isEmpty else { continue }
                    lines.append("\(state), \(name) × \(label) → \(actions.joined(separator: ", "))")
                }
            }
        }
        #expect(changes(in: lines, since: applicationProtocol == .native ? nativeTable : stockTable) == [])
    }

    private static func text(_ action: Admission.Action) -> String {
        switch action {
        case .judge: "judge"
        case .welcome(let answerHello): answerHello ? "welcome, answer" : "welcome"
        case .handleFirstMessage: "handle it"
        case .tellPending: "pending"
        case .sendError: "error"
        case .close(let code, _): "close \(code.rawValue)"
        }
    }
}

private let nativeTable = """
    greeting, stranger × hello → close 1
    greeting, stranger × knock → judge
    greeting, stranger × hello, live code → judge
    greeting, stranger × other message → close 4
    greeting, stranger × nonsense → close 4
    greeting, stranger × channel ended → close 0
    greeting, stranger × another channel → close 4
    greeting, revoked × hello → close 2
    greeting, revoked × knock → judge
    greeting, revoked × hello, live code → judge
    greeting, revoked × other message → close 4
    greeting, revoked × nonsense → close 4
    greeting, revoked × channel ended → close 0
    greeting, revoked × another channel → close 4
    greeting, known × hello → welcome, answer
    greeting, known × knock → welcome, answer
    greeting, known × hello, live code → judge
    greeting, known × other message → close 4
    greeting, known × nonsense → close 4
    greeting, known × channel ended → close 0
    judged, stranger × hello → close 4
    judged, stranger × knock → close 4
    judged, stranger × hello, live code → close 4
    judged, stranger × other message → close 4
    judged, stranger × nonsense → close 4
    judged, stranger × channel ended → close 0
    judged, stranger × another channel → close 4
    judged, stranger × held → pending
    judged, stranger × admitted → welcome, answer
    judged, stranger × refused → error, close 3
    judged, revoked × hello → close 4
    judged, revoked × knock → close 4
    judged, revoked × hello, live code → close 4
    judged, revoked × other message → close 4
    judged, revoked × nonsense → close 4
    judged, revoked × channel ended → close 0
    judged, revoked × another channel → close 4
    judged, revoked × held → pending
    judged, revoked × admitted → welcome, answer
    judged, revoked × refused → error, close 3
    judged, known × hello → close 4
    judged, known × knock → close 4
    judged, known × hello, live code → close 4
    judged, known × other message → close 4
    judged, known × nonsense → close 4
    judged, known × channel ended → close 0
    judged, known × held → pending
    judged, known × admitted → welcome, answer
    judged, known × refused → welcome, answer
    """

private let stockTable = """
    greeting, stranger × hello → judge
    greeting, stranger × knock → judge
    greeting, stranger × hello, live code → judge
    greeting, stranger × other message → judge
    greeting, stranger × nonsense → close 1
    greeting, stranger × channel ended → close 0
    greeting, stranger × another channel → close 4
    greeting, revoked × hello → judge
    greeting, revoked × knock → judge
    greeting, revoked × hello, live code → judge
    greeting, revoked × other message → judge
    greeting, revoked × nonsense → close 1
    greeting, revoked × channel ended → close 0
    greeting, revoked × another channel → close 4
    greeting, known × hello → welcome, answer
    greeting, known × knock → welcome, answer
    greeting, known × hello, live code → judge
    greeting, known × other message → welcome, handle it
    greeting, known × nonsense → welcome, handle it
    greeting, known × channel ended → close 0
    greeting, known × another channel → close 4
    judged, stranger × hello → close 4
    judged, stranger × knock → close 4
    judged, stranger × hello, live code → close 4
    judged, stranger × other message → close 4
    judged, stranger × nonsense → close 4
    judged, stranger × channel ended → close 0
    judged, stranger × another channel → close 4
    judged, stranger × admitted → welcome, answer
    judged, stranger × refused → error, close 1
    judged, revoked × hello → close 4
    judged, revoked × knock → close 4
    judged, revoked × hello, live code → close 4
    judged, revoked × other message → close 4
    judged, revoked × nonsense → close 4
    judged, revoked × channel ended → close 0
    judged, revoked × another channel → close 4
    judged, revoked × admitted → welcome, answer
    judged, revoked × refused → error, close 1
    judged, known × hello → close 4
    judged, known × knock → close 4
    judged, known × hello, live code → close 4
    judged, known × other message → close 4
    judged, known × nonsense → close 4
    judged, known × channel ended → close 0
    judged, known × another channel → close 4
    judged, known × admitted → welcome, answer
    judged, known × refused → welcome, answer
    """
