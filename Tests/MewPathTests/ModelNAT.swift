import MewBase
import MewTestSupport
import Synchronization

@testable import MewPath

/// A machine behind one box, and STUN servers outside: as little of both as a survey can tell apart. Nothing in it is shared
/// with the simulated network's boxes, so that the two check each other.
struct ModelNAT {
    enum Dependence: CaseIterable, Sendable { case nothing, address, port }

    struct Arrival {
        let bytes: [UInt8]
        let from: SocketAddress
        let at: Instant
    }

    /// Nil: addresses stay as they are.
    let mapping: Dependence?
    let filtering: Dependence
    var isBlocked = false
    var isFamilyBlocked: SocketAddress.Family?
    /// At which no server answers.
    var shutPorts: Set<UInt16> = []
    /// Servers name another port, and answer from it.
    var answersElsewhere = true
    /// Before then no main port answers.
    var lateUntil = Instant.zero
    var lossPerThousand = 0
    var random = SplitMix64(state: 1)
    /// Where packets were sent to.
    private(set) var sent: [SocketAddress] = []

    private var outer: [SocketAddress?: SocketAddress] = [:]
    private var asked: [SocketAddress: Set<SocketAddress>] = [:]

    static let mainPort: UInt16 = 3_340
    static let otherPort: UInt16 = 7_842
    private static let roundTrip: Duration = .milliseconds(40)

    init(mapping: Dependence?, filtering: Dependence) {
        (self.mapping, self.filtering) = (mapping, filtering)
    }

    static func server(_ number: Int) -> SocketAddress {
        SocketAddress(ipv4: 0xc000_0201 + UInt32(number), port: mainPort)
    }

    mutating func send(_ packet: NATSurvey.Packet, now: Instant) -> [Arrival] {
        sent.append(packet.to)
        guard !isBlocked, isFamilyBlocked != packet.to.family else { return [] }
        let source = outerAddress(to: packet.to)
        asked[source, default: []].insert(packet.to)
        guard !isLost, !shutPorts.contains(packet.to.port), case .request(let request)? = StunRequest.read(packet.bytes)
        else { return [] }
        let other = packet.to.with(port: packet.to.port == Self.mainPort ? Self.otherPort : Self.mainPort)
        if packet.to.port == Self.mainPort, now < lateUntil { return [] }
        let origin = request.origin == .same ? packet.to : other
        let seen = StunReply.Seen(mapped: source, origin: origin, other: answersElsewhere ? other : nil)
        guard !isLost, !shutPorts.contains(origin.port), mayEnter(source, from: origin) else { return [] }
        let reply = StunReply(transaction: request.transaction, content: .success(seen))
        return [Arrival(bytes: reply.encoded, from: origin, at: now.advanced(by: Self.roundTrip))]
    }

    private var isLost: Bool {
        mutating get { Int(random.next() % 1_000) < lossPerThousand }
    }

    private static func part(_ dependence: Dependence, of address: SocketAddress) -> SocketAddress? {
        switch dependence {
        case .nothing: nil
        case .address: address.with(port: 0)
        case .port: address
        }
    }

    private mutating func outerAddress(to remote: SocketAddress) -> SocketAddress {
        guard let mapping else { return SocketAddress(ipv4: 0xc0a8_0102, port: 4_000) }
        let key = Self.part(mapping, of: remote)
        let fresh = SocketAddress(ipv4: 0xcb00_7101, port: UInt16(10_000 + outer.count))
        outer[key] = outer[key] ?? fresh
        return outer[key] ?? fresh
    }

    private func mayEnter(_ own: SocketAddress, from remote: SocketAddress) -> Bool {
        (asked[own] ?? []).contains { Self.part(filtering, of: $0) == Self.part(filtering, of: remote) }
    }
}

/// The same bytes in every run.
final class TestEntropy: Entropy {
    private let random = Mutex(SplitMix64(state: 7))

    func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        random.withLock { random in
            for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: random.next()) }
        }
    }
}
