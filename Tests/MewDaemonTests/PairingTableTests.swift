import MewBase
import MewTestSupport
import Testing

@testable import MewDaemon

/// Every state of the pairing window met by every event. The table is the specification: whoever changes a transition sees
/// the line change.
@Suite("Pairing window, the whole table")
struct PairingTableTests {
    private static let now = Pairing.start.plus(.seconds(10))
    private static let late = Pairing.start.plus(.seconds(121))

    /// A window in each state, made by events alone.
    private static let states: [(String, @Sendable () -> PairingWindow)] = [
        ("waiting", { Pairing.window() }),
        ("waiting, 1 knock", { after([Pairing.hello(1, Pairing.phone)]) }),
        ("claimed", { after([Pairing.hello(2, Pairing.laptop, code: Pairing.code)]) }),
        ("claimed, closing", { after([Pairing.hello(2, Pairing.laptop, code: Pairing.code), .cancel]) }),
        ("paired", { after([Pairing.hello(2, Pairing.laptop, code: Pairing.code), .stored(true)]) }),
        ("expired", { after([], deadline: true) }),
        ("cancelled", { after([.cancel]) }),
    ]

    private static let events: [(String, PairingWindow.Event)] = [
        ("hello, no code", Pairing.hello(9, Pairing.stranger)),
        ("hello, right code", Pairing.hello(9, Pairing.stranger, code: Pairing.code)),
        ("hello, right code, same key", Pairing.hello(9, Pairing.laptop, code: Pairing.code)),
        ("hello, wrong code", Pairing.hello(9, Pairing.stranger, code: Pairing.wrongCode)),
        ("confirm 1", .confirm(KnockNumber(1))),
        ("refuse 1", .refuse(KnockNumber(1))),
        ("stored", .stored(true)),
        ("not stored", .stored(false)),
        ("#1 left", .left(ConnectionNumber(1))),
        ("cancel", .cancel),
    ]

    private static func after(_ events: [PairingWindow.Event], deadline: Bool = false) -> PairingWindow {
        var window = Pairing.window()
        for event in events { _ = window.receive(event, now: Pairing.start) }
        if deadline { _ = window.deadlinePassed(now: late) }
        return window
    }

    @Test("every state and every event")
    func wholeTable() {
        var lines: [String] = []
        for (name, make) in Self.states {
            for (label, event) in Self.events where Self.isPossible(event, in: make()) {
                var window = make()
                let actions = window.receive(event, now: Self.now)
                lines.append("\(name) × \(label) → \(window.stateName): \(Self.text(actions))")
            }
            var window = make()
            let actions = window.deadlinePassed(now: Self.late)
            lines.append("\(name) × deadline → \(window.stateName): \(Self.text(actions))")
        }
        #expect(changes(in: lines, since: pairingTable) == [])
    }

    /// The store answers only what it was asked; anything else is our own mistake and traps.
    private static func isPossible(_ event: PairingWindow.Event, in window: PairingWindow) -> Bool {
        switch event {
        case .stored: window.stateName.hasPrefix("claimed")
        case .hello, .confirm, .refuse, .left, .cancel: true
        }
    }

    private static func text(_ actions: [PairingWindow.Action]) -> String {
        actions.isEmpty ? "–" : actions.map(text).joined(separator: ", ")
    }

    private static func text(_ action: PairingWindow.Action) -> String {
        switch action {
        case .show(let notice): "show \(text(notice))"
        case .hold(let connection, _): "hold \(connection)"
        case .store(let grant): "store \(grant.connection) by \(grant.proof)"
        case .admit(let connection): "admit \(connection)"
        case .refuse(let connection, let refusal): "refuse \(connection) \(refusal.rawValue)"
        }
    }

    private static func text(_ notice: PairingWindow.Notice) -> String {
        switch notice {
        case .knock(let knock): "knock \(knock.number)"
        case .knockLeft(let number): "knock \(number) left"
        case .knockRefused(_, let refusal): "turned away \(refusal.rawValue)"
        case .wrongCode(_, let tries): "wrong code \(tries)"
        case .shutOut: "shut out"
        case .slowed: "slowed"
        case .paired(let grant): "paired \(grant.connection)"
        case .notSaved: "not saved"
        case .usedAgain: "used again"
        case .noSuchKnock(let number): "no knock \(number)"
        case .expired: "expired"
        case .closed: "closed"
        }
    }
}

private let pairingTable = """
    waiting × hello, no code → waiting: hold #9, show knock 1
    waiting × hello, right code → claimed: store #9 by code
    waiting × hello, right code, same key → claimed: store #9 by code
    waiting × hello, wrong code → waiting: show wrong code 1, refuse #9 wrong_code
    waiting × confirm 1 → waiting: show no knock 1
    waiting × refuse 1 → waiting: show no knock 1
    waiting × #1 left → waiting: –
    waiting × cancel → cancelled: show closed
    waiting × deadline → expired: show expired
    waiting, 1 knock × hello, no code → waiting: hold #9, show knock 2
    waiting, 1 knock × hello, right code → claimed: store #9 by code
    waiting, 1 knock × hello, right code, same key → claimed: store #9 by code
    waiting, 1 knock × hello, wrong code → waiting: show wrong code 1, refuse #9 wrong_code
    waiting, 1 knock × confirm 1 → claimed: store #1 by confirmed
    waiting, 1 knock × refuse 1 → waiting: refuse #1 refused_by_operator
    waiting, 1 knock × #1 left → waiting: show knock 1 left
    waiting, 1 knock × cancel → cancelled: show closed, refuse #1 window_closed
    waiting, 1 knock × deadline → expired: show expired, refuse #1 window_closed
    claimed × hello, no code → claimed: refuse #9 window_closed
    claimed × hello, right code → claimed: show used again, refuse #9 code_used
    claimed × hello, right code, same key → claimed: refuse #2 replaced
    claimed × hello, wrong code → claimed: show wrong code 1, refuse #9 wrong_code
    claimed × confirm 1 → claimed: show no knock 1
    claimed × refuse 1 → claimed: show no knock 1
    claimed × stored → paired: admit #2, show paired #2
    claimed × not stored → waiting: refuse #2 not_saved, show not saved
    claimed × #1 left → claimed: –
    claimed × cancel → claimed, closing: –
    claimed × deadline → claimed: –
    claimed, closing × hello, no code → claimed, closing: refuse #9 window_closed
    claimed, closing × hello, right code → claimed, closing: show used again, refuse #9 code_used
    claimed, closing × hello, right code, same key → claimed, closing: refuse #2 replaced
    claimed, closing × hello, wrong code → claimed, closing: show wrong code 1, refuse #9 wrong_code
    claimed, closing × confirm 1 → claimed, closing: show no knock 1
    claimed, closing × refuse 1 → claimed, closing: show no knock 1
    claimed, closing × stored → paired: admit #2, show paired #2
    claimed, closing × not stored → cancelled: refuse #2 not_saved, show not saved, show closed
    claimed, closing × #1 left → claimed, closing: –
    claimed, closing × cancel → claimed, closing: –
    claimed, closing × deadline → claimed, closing: –
    paired × hello, no code → paired: refuse #9 window_closed
    paired × hello, right code → paired: show used again, refuse #9 code_used
    paired × hello, right code, same key → paired: admit #9
    paired × hello, wrong code → paired: refuse #9 window_closed
    paired × confirm 1 → paired: show no knock 1
    paired × refuse 1 → paired: show no knock 1
    paired × #1 left → paired: –
    paired × cancel → paired: –
    paired × deadline → paired: –
    expired × hello, no code → expired: refuse #9 window_closed
    expired × hello, right code → expired: refuse #9 window_closed
    expired × hello, right code, same key → expired: refuse #9 window_closed
    expired × hello, wrong code → expired: refuse #9 window_closed
    expired × confirm 1 → expired: show no knock 1
    expired × refuse 1 → expired: show no knock 1
    expired × #1 left → expired: –
    expired × cancel → expired: –
    expired × deadline → expired: –
    cancelled × hello, no code → cancelled: refuse #9 window_closed
    cancelled × hello, right code → cancelled: refuse #9 window_closed
    cancelled × hello, right code, same key → cancelled: refuse #9 window_closed
    cancelled × hello, wrong code → cancelled: refuse #9 window_closed
    cancelled × confirm 1 → cancelled: show no knock 1
    cancelled × refuse 1 → cancelled: show no knock 1
    cancelled × #1 left → cancelled: –
    cancelled × cancel → cancelled: –
    cancelled × deadline → cancelled: –
    """
