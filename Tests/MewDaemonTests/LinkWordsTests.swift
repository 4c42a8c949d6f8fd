import MewBase
import MewWire
import Testing

@testable import MewDaemon

@Suite("What the log says of links")
struct LinkWordsTests {
    private static let direct = LinkPath.direct(.loopback(port: 7))
    private static let relay = LinkPath.relay(url: "https://relay.test/")

    @Test("a move names both ways and why")
    func moves() {
        func words(_ from: LinkPath, _ to: LinkPath, _ wasUnheard: Bool = false) -> String {
            LinkMove(from: from, to: to, wasUnheard: wasUnheard).sentence
        }
        #expect(words(Self.relay, Self.direct) == "the relay https://relay.test/ to 127.0.0.1:7: an address answers")
        #expect(
            words(Self.direct, Self.relay)
                == "127.0.0.1:7 to the relay https://relay.test/: the device gave the address up")
        #expect(words(Self.direct, Self.relay, true).hasSuffix(": it was not heard there any more"))
    }

    @Test("an end is told in words, never by a number that we know")
    func ends() {
        let codes = [.done, .unauthorized, .revoked, .pairingRefused, .protocolViolation, CloseCode.shuttingDown]
        for code in codes {
            for end in [LinkClosure.local(code), .peer(code, reason: "")] {
                #expect(!end.sentence.contains("code") && !end.sentence.contains("\(code.rawValue)"), "\(end.sentence)")
            }
        }
        #expect(
            LinkClosure.local(.revoked).sentence == "this daemon closed the connection, because this device was revoked"
        )
        #expect(LinkClosure.local(CloseCode(rawValue: 77)).sentence.contains("77"))
        #expect(LinkClosure.peer(.done, reason: "bye\u{1B}").sentence == "it closed the connection (bye\u{FFFD})")
    }
}
