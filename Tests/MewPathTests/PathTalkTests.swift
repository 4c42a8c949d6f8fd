import MewBase
import MewIdentity
import Testing

@testable import MewPath

@Suite("The talk beside a connection")
struct PathTalkTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)
    private let from = SocketAddress("192.0.2.9:77")

    /// One end; a class, so that an expectation may call what changes it.
    private final class End {
        private var talk: PathTalk

        init(_ keys: PathKeys) {
            talk = PathTalk(keys)
        }

        func ask(_ content: PathMessage.Content, of address: SocketAddress? = nil, now: Instant) -> [UInt8] {
            talk.ask(content, of: address, entropy: SystemEntropy(), now: now)
        }

        func hear(_ bytes: [UInt8], from source: SocketAddress?, now: Instant) -> PathTalk.Heard? {
            talk.hear(bytes, from: source, now: now)
        }
    }

    private func talks() -> (dialler: End, listener: End) {
        (End(PathMessageTests.dialler), End(PathMessageTests.listener))
    }

    private func answer(_ heard: PathTalk.Heard?) -> [UInt8]? {
        switch heard {
        case .question(let answer), .call(_, _, let answer), .offer(_, _, let answer): answer
        case .answer, nil: nil
        }
    }

    @Test("a probe is answered with where it came from, and the answer is taken once")
    func probe() throws {
        let (dialler, listener) = talks()
        let question = dialler.ask(.probe, now: start)
        let reply = try #require(answer(listener.hear(question, from: from, now: start)))
        let later = start.advanced(by: .milliseconds(40))
        #expect(
            dialler.hear(reply, from: from, now: later)
                == .answer(.probe, observed: from, roundTrip: .milliseconds(40)))
        #expect(dialler.hear(reply, from: from, now: later) == nil)
    }

    @Test(
        "a question for one address is answered only from there: a peer that knows the keys cannot speak for somebody else"
    )
    func check() throws {
        let (dialler, listener) = talks()
        let address = try #require(SocketAddress("203.0.113.5:9"))
        let question = dialler.ask(.probe, of: address, now: start)
        let reply = try #require(answer(listener.hear(question, from: from, now: start)))
        #expect(dialler.hear(reply, from: from, now: start) == nil)
        #expect(dialler.hear(reply, from: nil, now: start) == nil)
        #expect(
            dialler.hear(reply, from: address, now: start)
                == .answer(.check(address), observed: from, roundTrip: .zero))
        let other = dialler.ask(.probe, now: start)
        let otherReply = try #require(answer(listener.hear(other, from: nil, now: start)))
        guard case .answer(.probe, _, _)? = dialler.hear(otherReply, from: address, now: start) else {
            Issue.record("an answer to a question that went elsewhere says nothing about an address")
            return
        }
    }

    @Test("a question that is repeated byte by byte gets no second answer")
    func replay() {
        let (dialler, listener) = talks()
        let question = dialler.ask(.probe, now: start)
        #expect(listener.hear(question, from: from, now: start) != nil)
        #expect(listener.hear(question, from: from, now: start) == nil)
    }

    @Test("of two calls that overtake each other both are answered, and only the later one is new")
    func order() throws {
        let (dialler, listener) = talks()
        let call = try PathMessageTests.call()
        let first = listener.ask(.call(call), now: start)
        let second = listener.ask(.call(call), now: start)
        guard case .call(call, true, _) = dialler.hear(second, from: from, now: start) else {
            Issue.record("the later call is new")
            return
        }
        guard case .call(call, false, _) = dialler.hear(first, from: from, now: start) else {
            Issue.record("the earlier call is old news")
            return
        }
    }

    @Test("an offer is answered, and of two that overtake each other only the later one is new")
    func offers() throws {
        let (dialler, listener) = talks()
        let offer = Offer(candidates: try PathMessageTests.call().candidates, nat: PathMessageTests.nat)
        let first = dialler.ask(.offer(offer), now: start)
        let second = dialler.ask(.offer(offer), now: start)
        guard case .offer(offer, true, let reply) = listener.hear(second, from: nil, now: start),
            case .offer(offer, false, _) = listener.hear(first, from: nil, now: start)
        else {
            Issue.record("the later offer is new, the earlier one is not")
            return
        }
        #expect(dialler.hear(reply, from: nil, now: start) == .answer(.offer, observed: nil, roundTrip: .zero))
    }

    @Test("an answer to a question of another kind, or one that comes after ten seconds, is none")
    func patience() throws {
        let (dialler, listener) = talks()
        let late = start.advanced(by: PathTalk.patience)
        for (time, isTaken) in [(late, true), (late.advanced(by: .nanoseconds(1)), false)] {
            let question = dialler.ask(.probe, now: start)
            let reply = try #require(answer(listener.hear(question, from: from, now: start)))
            #expect((dialler.hear(reply, from: from, now: time) != nil) == isTaken)
        }
    }

    @Test("96 questions may be open; the oldest gives way to the 97th")
    func open() throws {
        let (dialler, listener) = talks()
        var replies: [[UInt8]] = []
        var time = start
        for _ in 0...PathTalk.maxAsked {
            let question = dialler.ask(.probe, now: start)
            // Slowly enough for the budget of answers.
            time = time.advanced(by: .milliseconds(100))
            replies.append(try #require(answer(listener.hear(question, from: from, now: time))))
        }
        #expect(dialler.hear(replies[0], from: from, now: time) == nil)
        #expect(dialler.hear(replies[1], from: from, now: time) != nil)
        #expect(dialler.hear(replies[PathTalk.maxAsked], from: from, now: time) != nil)
    }

    @Test("16 questions at once are answered, the 17th is not, and is when it comes again later")
    func budget() throws {
        let (dialler, listener) = talks()
        let questions = (0..<17).map { _ in dialler.ask(.probe, now: start) }
        for question in questions.prefix(16) { #expect(listener.hear(question, from: from, now: start) != nil) }
        #expect(listener.hear(questions[16], from: from, now: start) == nil)
        let later = start.advanced(by: .seconds(1))
        #expect(listener.hear(questions[16], from: from, now: later) != nil)
    }

    @Test("an answer is at most 12 bytes longer than its question, so that nobody is made to flood another")
    func amplification() throws {
        let (dialler, listener) = talks()
        let far = SocketAddress("[2001:db8::9]:77")
        let question = dialler.ask(.probe, now: start)
        let reply = try #require(answer(listener.hear(question, from: far, now: start)))
        #expect(reply.count == question.count + 12)
    }

    @Test("keys are printed by nobody")
    func secrecy() {
        #expect("\(PathMessageTests.dialler)" == "‹secret›")
    }
}
