import MewBase
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

@Suite("Pairing, over links", .timeLimit(.minutes(1)))
struct PairingFlowTests {
    @Test("a stranger is closed with 1 unauthorized before any stream", arguments: ApplicationProtocol.allCases)
    func stranger(applicationProtocol: ApplicationProtocol) async throws {
        try await DaemonBench.with { bench in
            let peer = try await bench.dial(Pairing.stranger, applicationProtocol)
            #expect(await peer.link.closed() == .peer(.unauthorized, reason: "unauthorized"))
        }
    }

    @Test("with the code a native device is in at once, and the screen names it")
    func nativeCode() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window(scope: .collaborate)
            let control = try await bench.connect(Pairing.laptop)
            try await control.hello(token: screen.token.revealed, name: "Ada's \u{1B}laptop")
            guard case .remoteReady(let ready)? = try await control.message() else { return fail("no remote_ready") }
            #expect(ready.scope == .collaborate)
            #expect(ready.you == .init(name: "Ada's \u{FFFD}laptop", scope: .collaborate))
            #expect(ready.bootID != nil && ready.limits != nil)
            #expect(Set(ready.capabilities ?? []).isSuperset(of: ["ops", "resume", "desk"]))
            #expect(
                await screen.next()
                    == .paired(Pairing.laptop, name: "Ada's \u{FFFD}laptop", scope: .collaborate, proof: "code"))
        }
    }

    @Test("a phone writes hello, ping and list at once and gets the answers in that order")
    func stockCode() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window()
            let phone = try await bench.connect(Pairing.phone, .stock)
            try await phone.hello(token: screen.token.revealed, name: "mew mobile")
            try await phone.send(.ping)
            try await phone.send(.listSessions)
            #expect(try await phone.message() == .remoteReady(.init(scope: .control)))
            #expect(try await phone.message() == .pong(.init(version: "0.2.0")))
            #expect(try await phone.message() == .sessionList(.init(sessions: [])))
            #expect(try await phone.message() == .groupList(.init(groups: [])))
        }
    }

    @Test("D1: a phone that repeats its spent token on the next connection is welcome")
    func spentToken() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window()
            for _ in 1...3 {
                let phone = try await bench.connect(Pairing.phone, .stock)
                try await phone.hello(token: screen.token.revealed, name: "mew mobile")
                #expect(try await phone.message() == .remoteReady(.init(scope: .control)))
                await phone.link.close(code: .done, reason: "")
            }
        }
    }

    @Test("a native device with a wrong code hears why and is closed with 3; the code still works for its owner")
    func wrongCodeNative() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window()
            let eve = try await bench.connect(Pairing.stranger)
            try await eve.hello(token: PairingToken(entropy: SystemEntropy()).revealed)
            guard case .error(let error)? = try await eve.message() else { return fail("no error") }
            #expect(error.message == PairingWindow.Refusal.wrongCode.sentence)
            #expect(await eve.link.closed() == .peer(.pairingRefused, reason: error.message))
            #expect(await screen.next() == .wrongCode(Pairing.stranger, tries: 1))
            let laptop = try await bench.connect(Pairing.laptop)
            try await laptop.hello(token: screen.token.revealed)
            guard case .remoteReady? = try await laptop.message() else { return fail("the code was burnt") }
        }
    }

    @Test("a phone with a wrong code hears the stock words and is closed with 1")
    func wrongCodeStock() async throws {
        try await DaemonBench.with { bench in
            _ = try await bench.window()
            let phone = try await bench.connect(Pairing.phone, .stock)
            try await phone.hello(token: "mew_01K4SJKHR00000000000T0KEN1")
            #expect(
                try await phone.message() == .error(.init(message: "remote pairing credentials were rejected")))
            #expect(await phone.link.closed() == .peer(.unauthorized, reason: "unauthorized"))
        }
    }

    @Test("the sixth try of a key is not even looked at, with the right code")
    func shutOut() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window()
            for number in 1...5 {
                let eve = try await bench.connect(Pairing.stranger)
                try await eve.hello(token: "mew_01K4SJKHR00000000000T0KEN1")
                _ = await eve.link.closed()
                #expect(await screen.next() == .wrongCode(Pairing.stranger, tries: number))
            }
            #expect(await screen.next() == .shutOut(Pairing.stranger))
            let eve = try await bench.connect(Pairing.stranger)
            try await eve.hello(token: screen.token.revealed)
            #expect(await eve.link.closed() == .peer(.pairingRefused, reason: PairingWindow.Refusal.shutOut.sentence))
        }
    }

    @Test("a knock waits, both screens show the same six digits, and the confirmed device is in")
    func knock() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window()
            let laptop = try await bench.connect(Pairing.laptop)
            try await laptop.hello()
            guard case .pairPending(let pending)? = try await laptop.message() else { return fail("not pending") }
            #expect((115...120).contains(pending.expiresInSeconds))
            guard case .knock(let number, let node, let name, let digits?)? = await screen.next() else {
                return fail("no knock with digits")
            }
            #expect(node == Pairing.laptop && name == "laptop")
            let exported = try await laptop.link.export(label: "EXPORTER-mew-pair-1", byteCount: 8)
            #expect(PairingDigits.text(exported) == digits)
            await bench.daemon.answerKnock(number, confirmed: true, in: screen.number)
            guard case .remoteReady? = try await laptop.message() else { return fail("not let in") }
            #expect(
                await screen.next() == .paired(Pairing.laptop, name: "laptop", scope: .control, proof: "confirmed"))
        }
    }

    @Test("a knock that the person refuses is closed with 3; one that leaves is taken from the screen")
    func refusedKnock() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window()
            let eve = try await bench.connect(Pairing.stranger)
            try await eve.hello()
            guard case .knock(let number, _, _, _)? = await screen.next() else { return fail("no knock") }
            await bench.daemon.answerKnock(number, confirmed: false, in: screen.number)
            #expect(
                await eve.link.closed()
                    == .peer(.pairingRefused, reason: PairingWindow.Refusal.refusedByOperator.sentence))
            let shy = try await bench.connect(Pairing.laptop)
            try await shy.hello()
            guard case .knock(let second, _, _, _)? = await screen.next() else { return fail("no second knock") }
            await shy.link.close(code: .done, reason: "changed my mind")
            #expect(await screen.next() == .knockLeft(second))
        }
    }

    @Test("an old phone, which says no hello, is shown without digits and answered once it is confirmed")
    func oldPhone() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window()
            let phone = try await bench.connect(Pairing.phone, .stock)
            try await phone.send(.ping)
            guard case .knock(let number, Pairing.phone, name: nil, digits: nil)? = await screen.next() else {
                return fail("an old phone has neither name nor digits")
            }
            await bench.daemon.answerKnock(number, confirmed: true, in: screen.number)
            #expect(try await phone.message() == .pong(.init(version: "0.2.0")))
        }
    }

    @Test("a device that cannot be saved is told so, and its code still works when the disk has room again")
    func diskFull() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window()
            await bench.devices.fail("the disk is full")
            let first = try await bench.connect(Pairing.laptop)
            try await first.hello(token: screen.token.revealed)
            #expect(
                await first.link.closed() == .peer(.pairingRefused, reason: PairingWindow.Refusal.notSaved.sentence))
            #expect(await screen.next() == .notSaved(Pairing.laptop))
            await bench.devices.fail(nil)
            let second = try await bench.connect(Pairing.laptop)
            try await second.hello(token: screen.token.revealed)
            guard case .remoteReady? = try await second.message() else { return fail("the code was burnt") }
        }
    }

    @Test("one window at a time; closing it sends the waiting knocks away")
    func oneWindow() async throws {
        try await DaemonBench.with { bench in
            let screen = try await bench.window()
            await #expect {
                _ = try await bench.window()
            } throws: { ($0 as? ControlError)?.code == "busy" }
            let laptop = try await bench.connect(Pairing.laptop)
            try await laptop.hello()
            guard case .knock? = await screen.next() else { return fail("no knock") }
            await bench.daemon.closeWindow(screen.number)
            #expect(
                await laptop.link.closed()
                    == .peer(.pairingRefused, reason: PairingWindow.Refusal.windowClosed.sentence))
            #expect(await screen.next() == .closed)
            #expect(await screen.next() == nil)
        }
    }
}
