import CQuic
import MewBase
import MewIdentity
import MewSim
import Testing

@testable import MewQUICCore

@Suite("Demultiplexer")
struct DemultiplexerTests {
    private let now = Instant(nanoseconds: 1_000_000_000_000)
    private let slot = ConnectionSlot(index: 3)

    private func route(_ demultiplexer: inout Demultiplexer, _ bytes: [UInt8], at time: Instant? = nil)
        -> Demultiplexer.Verdict
    {
        bytes.withUnsafeBytes { demultiplexer.route($0, now: time ?? now) }
    }

    private func shortPacket(_ id: LocalConnectionID) -> [UInt8] {
        [0x40] + withUnsafeBytes(of: id.value) { Array($0) } + Array(repeating: 0, count: 30)
    }

    @Test("short packets go to the connection that issued their ID, until it is retired")
    func routesByLocalID() {
        var demultiplexer = Demultiplexer()
        let id = LocalConnectionID(value: 42)
        guard case .stranger(id) = route(&demultiplexer, shortPacket(id)) else { return expect("a stranger") }
        demultiplexer.register(id, for: slot)
        guard case .connection(slot) = route(&demultiplexer, shortPacket(id)) else { return expect("the connection") }
        demultiplexer.retire(id, now: now)
        guard case .late(nil) = route(&demultiplexer, shortPacket(id)) else { return expect("late") }
    }

    @Test("a retired ID is late for ten seconds and unknown from then on")
    func forgetsRetiredIDs() {
        var demultiplexer = Demultiplexer()
        let id = LocalConnectionID(value: 42)
        demultiplexer.retire(id, now: now)
        let almost = now.advanced(by: .seconds(10) - .nanoseconds(1))
        guard case .late = route(&demultiplexer, shortPacket(id), at: almost) else { return expect("late") }
        guard case .stranger = route(&demultiplexer, shortPacket(id), at: now.advanced(by: .seconds(10))) else {
            return expect("a stranger")
        }
        #expect(demultiplexer.counts.retired == 0)
    }

    @Test("the memory of retired IDs is bounded")
    func boundsRetiredIDs() {
        var retired = RetiredConnectionIDs()
        for value in 0...UInt64(RetiredConnectionIDs.maxCount) {
            retired.insert(LocalConnectionID(value: value), farewell: nil, now: now)
        }
        #expect(retired.count == RetiredConnectionIDs.maxCount)
        guard case .unknown = retired.find(LocalConnectionID(value: 0), now: now) else { return expect("unknown") }
        guard case .retired = retired.find(LocalConnectionID(value: 1), now: now) else { return expect("retired") }
    }

    private func initial(_ id: ForeignConnectionID) -> [UInt8] {
        let bytes = withUnsafeBytes(of: id.cid.data) { Array($0.prefix(id.byteCount)) }
        return [0xc0, 0, 0, 0, 1, UInt8(id.byteCount)] + bytes + [0] + Array(repeating: 0, count: 1_200)
    }

    @Test("a first flight goes to the connection it made; its copies are late for ten seconds after that has ended")
    func remembersFirstChoices() throws {
        var demultiplexer = Demultiplexer()
        let id = ForeignConnectionID(random: SeededEntropy(seed: 1), byteCount: 18)
        guard case .initial = route(&demultiplexer, initial(id)) else { return expect("a new dialler") }
        demultiplexer.registerFirstChoice(id, for: slot)
        guard case .connection(slot) = route(&demultiplexer, initial(id)) else { return expect("the connection") }
        demultiplexer.retireFirstChoice(id, now: now)
        let almost = now.advanced(by: .seconds(10) - .nanoseconds(1))
        guard case .late(nil) = route(&demultiplexer, initial(id), at: almost) else { return expect("late") }
        guard case .initial = route(&demultiplexer, initial(id), at: now.advanced(by: .seconds(10))) else {
            return expect("a new dialler")
        }
        #expect(demultiplexer.counts.firstChoices == 0)
    }

    @Test("the memory of first choices is bounded")
    func boundsFirstChoices() {
        var demultiplexer = Demultiplexer()
        let entropy = SeededEntropy(seed: 2)
        for _ in 0...RetiredConnectionIDs.maxCount {
            let id = ForeignConnectionID(random: entropy, byteCount: 20)
            demultiplexer.registerFirstChoice(id, for: slot)
            demultiplexer.retireFirstChoice(id, now: now)
        }
        #expect(demultiplexer.counts.firstChoices == RetiredConnectionIDs.maxCount)
    }

    @Test("the last 16 bytes find whom a reset would end, among the tokens in use, in packets of 21 bytes and more")
    func findsResetTarget() throws {
        var demultiplexer = Demultiplexer()
        let tokens = try [UInt8(1), 2].map { byte in
            try #require(Array(repeating: byte, count: 16).withUnsafeBytes { ResetToken($0) })
        }
        func target(_ byte: UInt8, size: Int) -> ConnectionSlot? {
            let packet = Array(repeating: 0x40, count: size - 16) + Array(repeating: byte, count: 16)
            return packet.withUnsafeBytes { demultiplexer.resetTarget($0)?.slot }
        }
        demultiplexer.replaceResetTokens([], with: [tokens[0]], for: slot)
        #expect(target(1, size: 21) == slot)
        #expect(target(1, size: 20) == nil)
        #expect(target(2, size: 21) == nil)
        demultiplexer.replaceResetTokens([tokens[0]], with: [tokens[1]], for: slot)
        #expect(target(1, size: 21) == nil)
        #expect(target(2, size: 43) == slot)
    }

    @Test("the first byte tells STUN, QUIC and noise apart")
    func tellsProtocolsApart() {
        for first in UInt8.min...UInt8.max {
            let head = ([first, 0, 0, 0, 1, 8] + Array(repeating: 7, count: 1_200)).withUnsafeBytes { PacketHead($0) }
            switch first {
            case 0...3: #expect(head == .stun)
            case 4...63: #expect(head == .unknown)
            case 64...127: #expect(head == .short(LocalConnectionID(value: 0x0707_0708_0100_0000)), "\(first)")
            case 128...191: #expect(head == .unknown)
            default:
                guard case .long(_, let isInitial) = head else { return expect("a long header") }
                #expect(isInitial == (first & 0x30 == 0))
            }
        }
    }

    @Test("a header that ends early is noise at every length, and never a crash")
    func survivesTruncation() {
        let packet: [UInt8] =
            [0xc0, 0, 0, 0, 1, 20] + Array(repeating: 1, count: 20) + [8] + Array(repeating: 2, count: 8)
        for count in 0...packet.count {
            let head = Array(packet.prefix(count)).withUnsafeBytes { PacketHead($0) }
            if count <= 26 { #expect(head == .unknown, "\(count)") } else { #expect(head != .unknown, "\(count)") }
        }
        let tooLong = [0xc0, 0, 0, 0, 1, 21] + Array(repeating: UInt8(1), count: 40)
        #expect(tooLong.withUnsafeBytes { PacketHead($0) } == .unknown)
    }

    @Test("another version is answered with the one we speak, but only for a full-size packet")
    func negotiatesVersion() throws {
        let packet: [UInt8] = [0xc0, 0x6b, 0x33, 0x43, 0xcf, 2, 1, 2, 3, 4, 5, 6] + Array(repeating: 0, count: 1_188)
        let head = packet.withUnsafeBytes { PacketHead($0) }
        #expect(head == .foreignVersion(destination: [1, 2], source: [4, 5, 6]))
        let entropy = SeededEntropy(seed: 1)
        let answer = try #require(
            StatelessPackets.versionNegotiation(
                destination: [1, 2], source: [4, 5, 6], answering: 1_200, entropy: entropy))
        #expect(Array(answer.dropFirst()) == [0, 0, 0, 0, 3, 4, 5, 6, 2, 1, 2, 0, 0, 0, 1])
        #expect(
            StatelessPackets.versionNegotiation(destination: [1, 2], source: [4], answering: 1_199, entropy: entropy)
                == nil)
    }

    private func expect(_ what: String) {
        Issue.record("expected \(what)")
    }
}

@Suite("Admission")
struct AdmissionTests {
    private func newcomer(_ network: Int, isProven: Bool) -> Newcomer {
        Newcomer(SocketAddress(ipv4: UInt32(network) << 8, port: 1), isProven: isProven)
    }

    @Test("from 64 half-open connections on strangers must prove their address, from 512 on they get no answer")
    func limitsHalfOpen() {
        var admission = Admission()
        for number in 0..<512 {
            let proven = newcomer(number, isProven: true)
            #expect(admission.verdict(on: newcomer(number, isProven: false)) == (number < 64 ? .accept : .retry))
            #expect(admission.verdict(on: proven) == .accept)
            admission.handshakeStarted(by: proven)
        }
        #expect(admission.verdict(on: newcomer(600, isProven: true)) == .drop)
        admission.handshakeEnded(by: newcomer(0, isProven: true))
        #expect(admission.verdict(on: newcomer(600, isProven: true)) == .accept)
    }

    @Test(
        "forged packets of one network cost it a round trip, never the way in: the ninth handshake must prove its address"
    )
    func forgedHandshakes() {
        var admission = Admission()
        let forged = Newcomer(SocketAddress("192.0.2.1:1")!, isProven: false)
        let victim = SocketAddress("192.0.2.254:2")!
        for _ in 0..<8 {
            #expect(admission.verdict(on: Newcomer(victim, isProven: false)) == .accept)
            admission.handshakeStarted(by: forged)
        }
        #expect(admission.verdict(on: Newcomer(victim, isProven: false)) == .retry)
        #expect(admission.verdict(on: Newcomer(victim, isProven: true)) == .accept)
        #expect(admission.verdict(on: Newcomer(SocketAddress("192.0.3.1:1")!, isProven: false)) == .accept)
        admission.handshakeEnded(by: forged)
        #expect(admission.verdict(on: Newcomer(victim, isProven: false)) == .accept)
    }

    @Test(
        "one proven address has eight handshakes in flight, its network thirty-two",
        arguments: ["192.0.2.", "2001:db8::"])
    func provenHandshakes(_ prefix: String) {
        var admission = Admission()
        func host(_ number: Int) -> Newcomer {
            let text = prefix.contains(":") ? "[\(prefix)\(number)]:9" : "\(prefix)\(number):9"
            return Newcomer(SocketAddress(text)!, isProven: true)
        }
        for number in 1...4 {
            for _ in 0..<8 {
                #expect(admission.verdict(on: host(number)) == .accept)
                admission.handshakeStarted(by: host(number))
            }
            #expect(admission.verdict(on: host(number)) == .drop)
        }
        #expect(admission.verdict(on: host(5)) == .drop)
        admission.handshakeEnded(by: host(1))
        #expect(admission.verdict(on: host(5)) == .accept)
        #expect(admission.verdict(on: host(2)) == .drop)
    }

    @Test("throw-away keys at one relay use up that relay's share of handshakes, and leave the rest to everybody else")
    func carrierShare() {
        var admission = Admission()
        for sender in 0..<UInt64(admission.limits.perCarrier) {
            #expect(admission.verdict(on: Newcomer(carrier: 1, sender: sender)) == .accept)
            admission.handshakeStarted(by: Newcomer(carrier: 1, sender: sender))
        }
        #expect(admission.verdict(on: Newcomer(carrier: 1, sender: 9_999)) == .drop)
        #expect(admission.verdict(on: Newcomer(carrier: 2, sender: 0)) == .accept)
        #expect(admission.verdict(on: Newcomer(SocketAddress("192.0.2.1:1")!, isProven: true)) == .accept)
        admission.handshakeEnded(by: Newcomer(carrier: 1, sender: 0))
        #expect(admission.verdict(on: Newcomer(carrier: 1, sender: 9_999)) == .accept)
    }

    @Test("one sender behind a relay has eight handshakes in flight; it is never asked to prove an address")
    func relayedHandshakes() {
        var admission = Admission()
        for _ in 0..<8 {
            #expect(admission.verdict(on: Newcomer(carrier: 1, sender: 1)) == .accept)
            admission.handshakeStarted(by: Newcomer(carrier: 1, sender: 1))
        }
        #expect(admission.verdict(on: Newcomer(carrier: 1, sender: 1)) == .drop)
        #expect(admission.verdict(on: Newcomer(carrier: 1, sender: 2)) == .accept)
        #expect(admission.verdict(on: Newcomer(carrier: 2, sender: 1)) == .accept)
    }

    @Test("an IPv6 network is a /56")
    func groupsIPv6() {
        let first = Newcomer(SocketAddress("[2001:db8:0:12ff::1]:1")!, isProven: false)
        #expect(first == Newcomer(SocketAddress("[2001:db8:0:1200::2]:2")!, isProven: false))
        #expect(first != Newcomer(SocketAddress("[2001:db8:0:1300::1]:1")!, isProven: false))
    }

    @Test("32 strangers wait ten seconds, 32 more one second, the next is refused")
    func limitsStrangers() {
        var admission = Admission()
        let verdicts = (0..<65).map { _ in admission.strangerArrived() }
        #expect(verdicts[..<32].allSatisfy { $0 == .wait(.seconds(10)) })
        #expect(verdicts[32..<64].allSatisfy { $0 == .wait(.seconds(1)) })
        #expect(verdicts[64] == .refuse)
        admission.strangerLeft()
        let next = admission.strangerArrived()
        #expect(next == .wait(.seconds(1)))
    }

    @Test("a token bucket refills with time and never beyond its size")
    func refills() {
        var limit = RateLimit(burst: 2, perSecond: 10)
        let start = Instant(nanoseconds: 5_000_000_000)
        let times: [Duration] = [
            .zero, .zero, .milliseconds(99), .milliseconds(200), .seconds(100), .seconds(100), .seconds(100),
        ]
        let taken = times.map { limit.take(now: start.advanced(by: $0)) }
        #expect(taken == [true, true, false, true, true, true, false])
    }
}

@Suite("Deadlines")
struct DeadlineHeapTests {
    @Test("deadlines leave in order of time and then of slot, whatever changed before")
    func ordersDeadlines() {
        var heap = DeadlineHeap()
        var random = SeededGenerator(seed: 3)
        var expected: [Int: Instant] = [:]
        for _ in 0..<2_000 {
            let slot = Int(random.next() % 64)
            let deadline = random.next() % 5 == 0 ? Instant.distantFuture : Instant(nanoseconds: random.next() % 50)
            heap.set(ConnectionSlot(index: slot), deadline: deadline)
            expected[slot] = deadline == .distantFuture ? nil : deadline
            #expect(heap.earliest == expected.values.min())
        }
        var order: [Int] = []
        while let slot = heap.popDue(now: Instant(nanoseconds: 60)) { order.append(slot.index) }
        #expect(order == expected.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key))
        #expect(heap.count == 0)
    }

    @Test("nothing is due before its time")
    func waits() {
        var heap = DeadlineHeap()
        heap.set(ConnectionSlot(index: 1), deadline: Instant(nanoseconds: 10))
        let early = heap.popDue(now: Instant(nanoseconds: 9))
        #expect(early == nil)
        let due = heap.popDue(now: Instant(nanoseconds: 10))
        #expect(due == ConnectionSlot(index: 1))
    }
}
