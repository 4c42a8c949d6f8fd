import MewBase
import MewWire
import Testing

@testable import MewDaemon

@Suite("Admission of a connection")
struct AdmissionTests {
    private let start = Pairing.start

    private static func hello(
        code: PairingDigest? = nil, isLive: Bool = false, capabilities: [String] = Admission.mandatoryCapabilities,
        asks: Bool = true
    ) -> Admission.Event {
        .greeted(
            .hello(
                .init(name: "phone", code: code, codeIsLive: isLive, capabilities: capabilities, asksToPair: asks)))
    }

    private func admission(_ applicationProtocol: ApplicationProtocol, _ standing: Admission.Standing) -> Admission {
        var admission = Admission(applicationProtocol, standing: standing, acceptedAt: start)
        _ = admission.begin()
        return admission
    }

    @Test(
        "a stranger is closed with 1 before any stream while no window is open",
        arguments: ApplicationProtocol.allCases)
    func strangerWithoutWindow(applicationProtocol: ApplicationProtocol) {
        var admission = Admission(applicationProtocol, standing: .stranger(mayEnter: false), acceptedAt: start)
        #expect(admission.begin() == [.close(.unauthorized, "unauthorized")])
    }

    @Test("a revoked device learns it: code 2 with the sentence, 1 for stock peers")
    func revoked() {
        let standing = Admission.Standing.revoked(mayEnter: false, reason: "revoked at 14:02")
        var native = Admission(.native, standing: standing, acceptedAt: start)
        #expect(native.begin() == [.close(.revoked, "revoked at 14:02")])
        var stock = Admission(.stock, standing: standing, acceptedAt: start)
        #expect(stock.begin() == [.close(.unauthorized, "revoked at 14:02")])
    }

    @Test("10 s without a word end it; one nanosecond less does not")
    func timeLimit() {
        var admission = admission(.native, .stranger(mayEnter: true))
        #expect(admission.nextDeadline == start.plus(.seconds(10)))
        #expect(admission.deadlinePassed(now: start.plus(.nanoseconds(9_999_999_999))) == [])
        #expect(
            admission.deadlinePassed(now: start.plus(.seconds(10))) == [.close(.unauthorized, "unauthorized")])
    }

    @Test("a well-formed hello ends the time limit: a knock waits for a person")
    func helloEndsTheLimit() {
        var admission = admission(.native, .stranger(mayEnter: true))
        #expect(admission.receive(Self.hello()) == [.judge])
        #expect(admission.nextDeadline == nil)
        #expect(admission.receive(.held(expiresIn: .seconds(90))) == [.tellPending(.seconds(90))])
        #expect(admission.deadlinePassed(now: start.plus(.seconds(60))) == [])
        #expect(admission.receive(.admitted) == [.welcome(answerHello: true)])
        #expect(admission.isReady)
    }

    @Test("a native device that does not ask to be let in is no knock: it hears what it is here, window or not")
    func onlyTalks() {
        var stranger = admission(.native, .stranger(mayEnter: true))
        #expect(stranger.receive(Self.hello(asks: false)) == [.close(.unauthorized, "unauthorized")])
        var revoked = admission(.native, .revoked(mayEnter: true, reason: "revoked at 14:02"))
        #expect(revoked.receive(Self.hello(asks: false)) == [.close(.revoked, "revoked at 14:02")])
        var withCode = admission(.native, .stranger(mayEnter: true))
        #expect(withCode.receive(Self.hello(code: Pairing.code, asks: false)) == [.judge])
        var phone = admission(.stock, .stranger(mayEnter: true))
        #expect(phone.receive(Self.hello(capabilities: [], asks: false)) == [.judge])
    }

    @Test("a wrong code: an error, then 3 to native peers and 1 to stock ones in the stock words")
    func wrongCode() {
        var native = admission(.native, .stranger(mayEnter: true))
        _ = native.receive(Self.hello(code: Pairing.wrongCode))
        let sentence = PairingWindow.Refusal.wrongCode.sentence
        #expect(
            native.receive(.refused(.wrongCode)) == [
                .sendError(sentence, .unauthorized), .close(.pairingRefused, sentence),
            ])
        var stock = admission(.stock, .stranger(mayEnter: true))
        _ = stock.receive(Self.hello(code: Pairing.wrongCode, capabilities: []))
        #expect(
            stock.receive(.refused(.wrongCode)) == [
                .sendError("remote pairing credentials were rejected", .unauthorized),
                .close(.unauthorized, "unauthorized"),
            ])
    }

    @Test("a device hears by its code whether to come again: the window is over, the disk is full, too many knock")
    func refusalCodes() {
        let codes: [PairingWindow.Refusal: ErrorCode] = [
            .windowClosed: .windowClosed, .notSaved: .notSaved, .tooManyKnocks: .busy,
        ]
        for refusal in PairingWindow.Refusal.allCases {
            var machine = admission(.native, .stranger(mayEnter: true))
            _ = machine.receive(Self.hello(code: Pairing.wrongCode))
            let said = machine.receive(.refused(refusal))
            #expect(said.first == .sendError(refusal.sentence, codes[refusal] ?? .unauthorized))
        }
    }

    @Test("D1: a known phone that repeats its spent token is welcome")
    func spentToken() {
        var admission = admission(.stock, .known)
        #expect(
            admission.receive(Self.hello(code: Pairing.wrongCode, capabilities: [])) == [.welcome(answerHello: true)])
    }

    @Test("a known device with a live code pairs again; refused, it stays what it was")
    func pairsAgain() {
        var admission = admission(.native, .known)
        #expect(admission.receive(Self.hello(code: Pairing.code, isLive: true)) == [.judge])
        #expect(admission.receive(.refused(.notExpected)) == [.welcome(answerHello: true)])
    }

    @Test("a known stock device may speak without a hello, and even nonsense is answered and not fatal")
    func knownStockWithoutHello() {
        var polite = admission(.stock, .known)
        #expect(
            polite.receive(.greeted(.otherMessage)) == [.welcome(answerHello: false), .handleFirstMessage])
        var odd = admission(.stock, .known)
        #expect(odd.receive(.greeted(.undecodable)) == [.welcome(answerHello: false), .handleFirstMessage])
    }

    @Test("an old phone's first words wait until a person has confirmed its key")
    func oldPhoneKnocks() {
        var admission = admission(.stock, .stranger(mayEnter: true))
        #expect(admission.receive(.greeted(.otherMessage)) == [.judge])
        #expect(admission.receive(.held(expiresIn: .seconds(90))) == [])
        #expect(admission.receive(.admitted) == [.welcome(answerHello: false), .handleFirstMessage])
    }

    @Test("an old phone that is not confirmed gets no error on its screen, only the close")
    func oldPhoneRefused() {
        var admission = admission(.stock, .stranger(mayEnter: true))
        _ = admission.receive(.greeted(.otherMessage))
        #expect(admission.receive(.refused(.refusedByOperator)) == [.close(.unauthorized, "unauthorized")])
    }

    @Test("a native peer must say hello first, known or not")
    func nativeMustSayHello() {
        for standing in [Admission.Standing.known, .stranger(mayEnter: true)] {
            var admission = admission(.native, standing)
            #expect(
                admission.receive(.greeted(.otherMessage))
                    == [.close(.protocolViolation, "the first message must be remote_hello")])
        }
    }

    @Test("a native hello without a mandatory capability is closed with 4", arguments: ["ops", "resume", "desk"])
    func mandatoryCapabilities(missing: String) {
        var admission = admission(.native, .known)
        let offered = Admission.mandatoryCapabilities.filter { $0 != missing }
        #expect(
            admission.receive(Self.hello(capabilities: offered))
                == [.close(.protocolViolation, "the hello lacks the capabilities \(missing)")])
    }

    @Test("a stranger has one channel; a known native peer may have sixteen waiting, not seventeen")
    func waitingChannels() {
        var stranger = admission(.native, .stranger(mayEnter: true))
        #expect(
            stranger.receive(.channel) == [.close(.protocolViolation, "one channel until the peer is known")])
        var known = admission(.native, .known)
        for _ in 1...16 { #expect(known.receive(.channel) == []) }
        #expect(
            known.receive(.channel)
                == [.close(.protocolViolation, "more than 16 channels before remote_ready")])
    }

    @Test("after it is ready or closed nothing changes it any more")
    func nothingAfterTheEnd() {
        var ready = admission(.native, .known)
        _ = ready.receive(Self.hello())
        var closed = Admission(.native, standing: .stranger(mayEnter: false), acceptedAt: start)
        _ = closed.begin()
        let events: [Admission.Event] = [
            Self.hello(), .greeted(.otherMessage), .ended, .channel, .held(expiresIn: .seconds(1)), .admitted,
            .refused(.wrongCode),
        ]
        for event in events {
            #expect(ready.receive(event) == [])
            #expect(closed.receive(event) == [])
        }
        #expect(ready.isReady && !closed.isReady)
    }
}
