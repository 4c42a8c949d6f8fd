import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewDaemon

@Suite("Pairing window")
struct PairingWindowTests {
    private let start = Pairing.start

    @Test("the right code pairs, after the device is written down and not before")
    func rightCodePairs() {
        var window = Pairing.window()
        let grant = Pairing.grant(1, Pairing.laptop, .code)
        #expect(window.receive(Pairing.hello(1, Pairing.laptop, code: Pairing.code), now: start) == [.store(grant)])
        #expect(window.receive(.stored(true), now: start) == [.admit(ConnectionNumber(1)), .show(.paired(grant))])
        #expect(!window.isOpen(now: start))
    }

    @Test("the code works at the last nanosecond of the window and not one later")
    func expiryBoundary() {
        let last = start.plus(.seconds(120))
        var inTime = Pairing.window()
        let hello = Pairing.hello(1, Pairing.laptop, code: Pairing.code)
        #expect(inTime.receive(hello, now: last) == [.store(Pairing.grant(1, Pairing.laptop, .code))])
        var late = Pairing.window()
        #expect(
            late.receive(hello, now: last.plus(.nanoseconds(1)))
                == [.show(.expired), .refuse(ConnectionNumber(1), .windowClosed)])
    }

    @Test("the window asks to be woken one nanosecond after its last instant and then says that it expired")
    func expiryTimer() {
        var window = Pairing.window()
        let last = start.plus(.seconds(120))
        #expect(window.nextDeadline == last.plus(.nanoseconds(1)))
        #expect(window.deadlinePassed(now: last) == [])
        #expect(window.isOpen(now: last))
        #expect(window.deadlinePassed(now: last.plus(.nanoseconds(1))) == [.show(.expired)])
        #expect(!window.isOpen(now: last.plus(.nanoseconds(1))))
        #expect(window.nextDeadline == nil)
    }

    @Test("a claim made in time is kept although storing it ends after the deadline")
    func claimOutlivesDeadline() {
        var window = Pairing.window()
        let last = start.plus(.seconds(120))
        _ = window.receive(Pairing.hello(1, Pairing.laptop, code: Pairing.code), now: last)
        let grant = Pairing.grant(1, Pairing.laptop, .code)
        #expect(
            window.receive(.stored(true), now: last.plus(.seconds(5)))
                == [.admit(ConnectionNumber(1)), .show(.paired(grant))])
    }

    @Test("a device that cannot be written down leaves the code alive")
    func failedStoreKeepsTheCode() {
        var window = Pairing.window()
        _ = window.receive(Pairing.hello(1, Pairing.laptop, code: Pairing.code), now: start)
        #expect(
            window.receive(.stored(false), now: start)
                == [.refuse(ConnectionNumber(1), .notSaved), .show(.notSaved(Pairing.laptop))])
        #expect(
            window.receive(Pairing.hello(2, Pairing.laptop, code: Pairing.code), now: start)
                == [.store(Pairing.grant(2, Pairing.laptop, .code))])
    }

    @Test("the used code is refused to everybody else, and the screen says so")
    func usedCode() {
        var window = Pairing.window()
        _ = window.receive(Pairing.hello(1, Pairing.laptop, code: Pairing.code), now: start)
        _ = window.receive(.stored(true), now: start)
        #expect(
            window.receive(Pairing.hello(2, Pairing.stranger, code: Pairing.code), now: start)
                == [.show(.usedAgain(Pairing.stranger)), .refuse(ConnectionNumber(2), .codeUsed)])
        #expect(
            window.receive(Pairing.hello(3, Pairing.laptop, code: Pairing.code), now: start)
                == [.admit(ConnectionNumber(3))])
    }

    @Test("wrong codes of others never burn the code")
    func guessesDoNotBurn() {
        var window = Pairing.window()
        for number in 0..<500 {
            let hello = Pairing.hello(
                UInt64(number), Pairing.numberedNode(number), code: Pairing.wrongCode, source: Pairing.source())
            _ = window.receive(hello, now: start)
        }
        #expect(
            window.receive(Pairing.hello(900, Pairing.laptop, code: Pairing.code), now: start)
                == [.store(Pairing.grant(900, Pairing.laptop, .code))])
    }

    @Test("a confirmation names the digits that were shown: after a reconnect the old knock is gone")
    func confirmationNamesTheKnock() {
        var window = Pairing.window()
        let first = window.receive(Pairing.hello(1, Pairing.phone), now: start)
        #expect(first.contains(.hold(ConnectionNumber(1), expiresIn: .seconds(120))))
        _ = window.receive(.left(ConnectionNumber(1)), now: start)
        _ = window.receive(Pairing.hello(2, Pairing.phone), now: start.plus(.seconds(1)))
        #expect(
            window.receive(.confirm(KnockNumber(1)), now: start.plus(.seconds(2)))
                == [.show(.noSuchKnock(KnockNumber(1)))])
        #expect(
            window.receive(.confirm(KnockNumber(2)), now: start.plus(.seconds(2)))
                == [.store(Pairing.grant(2, Pairing.phone, .confirmed))])
    }

    @Test("without a terminal a knock is turned away")
    func nobodyToConfirm() {
        var window = Pairing.window(canConfirm: false)
        #expect(
            window.receive(Pairing.hello(1, Pairing.phone), now: start) == [
                .show(.knockRefused(Pairing.phone, .nobodyToConfirm)),
                .refuse(ConnectionNumber(1), .nobodyToConfirm),
            ])
    }

    @Test("the expected key is admitted without code and without a person; any other is not, even with the code")
    func expectedKey() {
        var window = Pairing.window(expecting: Pairing.phone, canConfirm: false)
        #expect(
            window.receive(Pairing.hello(1, Pairing.stranger, code: Pairing.code), now: start).contains(
                .refuse(ConnectionNumber(1), .notExpected)))
        #expect(
            window.receive(Pairing.hello(2, Pairing.stranger), now: start).contains(
                .refuse(ConnectionNumber(2), .notExpected)))
        #expect(
            window.receive(Pairing.hello(3, Pairing.phone), now: start)
                == [.store(Pairing.grant(3, Pairing.phone, .expected))])
    }

    @Test("when one device is in, the knocks that still wait are sent away")
    func remainingKnocksAreDismissed() {
        var window = Pairing.window()
        _ = window.receive(Pairing.hello(1, Pairing.phone), now: start)
        _ = window.receive(Pairing.hello(2, Pairing.laptop, code: Pairing.code), now: start)
        #expect(window.receive(.stored(true), now: start).last == .refuse(ConnectionNumber(1), .windowClosed))
    }

    @Test("knocks turned away make one line a second, however many keys knock")
    func turnedAwayLinesArePaced() {
        var window = Pairing.window(canConfirm: false)
        var lines = 0
        for number in 0..<100 {
            let now = start.plus(.milliseconds(number * 20))
            let actions = window.receive(Pairing.hello(UInt64(number), Pairing.numberedNode(number)), now: now)
            lines += actions.count { if case .show = $0 { true } else { false } }
        }
        #expect(lines == 2)
    }
}
