import MewBase
import MewIdentity
import MewQUICCore
import MewSim

/// What happens to packets between two connections.
struct Wire {
    var latency = Duration.milliseconds(10)
    /// Up to this much is added at random, which also reorders.
    var jitter = Duration.zero
    var lossPerThousand = 0
    /// Larger packets vanish.
    var maxPacketBytes = 65_535
    /// Nothing gets through at all.
    var isCut = false
}

enum Side: Int, CaseIterable {
    case client, server

    var other: Side { self == .client ? .server : .client }
}

/// A client and a server connection on one simulated wire with virtual time: no sockets, no clock, no tasks.
final class CorePair {
    struct Flight {
        let due: Instant
        let order: Int
        let to: Side
        let bytes: [UInt8]
        let path: CorePath
    }

    /// (time, from, size) of every packet that was sent.
    struct Trace: Equatable {
        let time: UInt64
        let from: Side
        let size: Int
    }

    static let start = Instant(nanoseconds: 1_000_000_000)
    static let serverKey = SecretKey(seed: Array(repeating: 7, count: 32))!
    static let clientKey = SecretKey(seed: Array(repeating: 9, count: 32))!
    static let clientAddress = SocketAddress(ipv4: 0x0a00_0001, port: 1_000)
    static let serverAddress = SocketAddress(ipv4: 0x0a00_0002, port: 443)

    var now = CorePair.start
    var wire = Wire()
    let entropy: SeededEntropy
    private var random: SeededGenerator
    private(set) var client: ConnectionCore
    private(set) var server: ConnectionCore?
    private var flights: [Flight] = []
    private var order = 0
    private(set) var trace: [Trace] = []
    private(set) var batches: [(side: Side, batch: PacketBatch)] = []
    /// Events by side, in order.
    var events: [Side: [ConnectionEvent]] = [.client: [], .server: []]
    /// Called for each event as it is taken.
    var onEvent: ((Side, ConnectionEvent) -> Void)?
    /// Authorizes the client as soon as the server knows it.
    var authorizesAtOnce = true
    /// Where the server thinks the client is; tests move it.
    var clientAddressSeen = CorePair.clientAddress
    /// Where the client sends from, by the number of its path.
    var clientAddresses: [UInt32: SocketAddress] = [:]

    let configuration: TransportConfiguration
    private let serverCredentials: TLSCredentials
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_535, alignment: 16)

    init(
        seed: UInt64 = 1, configuration: TransportConfiguration = TransportConfiguration(),
        dialling node: NodeID? = nil, protocols: [String] = ["test/1"]
    ) throws {
        entropy = SeededEntropy(seed: seed)
        random = SeededGenerator(seed: SeededGenerator.mix(seed))
        self.configuration = configuration
        serverCredentials = try TLSCredentials(Self.serverKey)
        client = try ConnectionCore.dial(
            node ?? Self.serverKey.node, protocols: protocols,
            path: CorePath(number: 1, remote: Self.serverAddress), credentials: try TLSCredentials(Self.clientKey),
            resetKey: ResetKey(Self.clientKey), configuration: configuration, entropy: entropy, now: now)
    }

    deinit {
        buffer.deallocate()
    }

    func adopt(server: ConnectionCore) {
        self.server = server
        take(.server)
    }

    func core(_ side: Side) -> ConnectionCore? {
        side == .client ? client : server
    }

    /// Sends what is due, then moves to the next delivery or timer. False when nothing can ever happen again.
    func step() throws -> Bool {
        for side in Side.allCases { flush(side) }
        let timers = Side.allCases.compactMap { core($0)?.deadline }.filter { $0 != .distantFuture }
        guard let next = (timers + flights.map(\.due)).min() else { return false }
        now = max(now, next)
        let due = flights.filter { $0.due <= now }.sorted { ($0.due, $0.order) < ($1.due, $1.order) }
        flights.removeAll { $0.due <= now }
        for flight in due { try deliver(flight) }
        for side in Side.allCases {
            if let core = core(side), core.deadline <= now { core.expire(now: now) }
            take(side)
        }
        return true
    }

    /// Steps until `condition` holds. False when it never will, or not within `limit`.
    @discardableResult
    func run(limit: Duration = .seconds(120), until condition: () -> Bool) throws -> Bool {
        let end = now.advanced(by: limit)
        while !condition() {
            guard now <= end, try step() else { return condition() }
        }
        return true
    }

    func flush(_ side: Side) {
        guard let core = core(side) else { return }
        core.beginBurst()
        while let batch = core.transmit(into: buffer, now: now) {
            batches.append((side, batch))
            split(batch, from: side)
            take(side)
        }
        take(side)
    }

    private func split(_ batch: PacketBatch, from side: Side) {
        var offset = 0
        while offset < batch.byteCount {
            let size = min(batch.segmentSize, batch.byteCount - offset)
            send(Array(buffer[offset..<(offset + size)]), from: side, path: batch.path)
            offset += size
        }
    }

    private func send(_ bytes: [UInt8], from side: Side, path: CorePath) {
        trace.append(Trace(time: now.nanoseconds, from: side, size: bytes.count))
        let isLost = random.happens(Double(wire.lossPerThousand) / 1_000)
        let jitter = Int64.random(in: 0...max(0, wire.jitter.saturatingNanoseconds), using: &random)
        guard !isLost, !wire.isCut, bytes.count <= wire.maxPacketBytes else { return }
        order += 1
        let due = now.advanced(by: wire.latency + .nanoseconds(jitter))
        flights.append(
            Flight(due: due, order: order, to: side.other, bytes: bytes, path: arrivalPath(path, from: side)))
    }

    /// How the receiving side sees a path of the sending side.
    private func arrivalPath(_ path: CorePath, from side: Side) -> CorePath {
        switch side {
        case .client:
            CorePath(number: 1, remote: clientAddresses[path.number] ?? clientAddressSeen)
        case .server:
            CorePath(
                number: clientAddresses.first { $0.value == path.remote }?.key ?? 1, remote: Self.serverAddress)
        }
    }

    private func deliver(_ flight: Flight) throws {
        try flight.bytes.withUnsafeBytes { bytes in
            if flight.to == .server, server == nil {
                guard case .initial(let initial) = InitialPacket.read(bytes) else { return }
                server = try ConnectionCore.accept(
                    initial, protocols: ["test/1", "test/0"], path: flight.path, credentials: serverCredentials,
                    resetKey: ResetKey(Self.serverKey), configuration: configuration, entropy: entropy, now: now)
            }
            core(flight.to)?.receive(bytes, on: flight.path, ecn: 0, now: now)
        }
        take(flight.to)
    }

    func take(_ side: Side) {
        guard let core = core(side) else { return }
        for event in core.takeEvents() {
            if case .established = event, side == .server, authorizesAtOnce { core.authorize() }
            events[side]?.append(event)
            onEvent?(side, event)
        }
    }

    var isEstablished: Bool { client.isEstablished && server?.isEstablished == true }
}

extension ConnectionCore {
    func write(_ bytes: [UInt8], to stream: StreamCore) throws -> Int {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        return try write(UnsafeRawBufferPointer(rebasing: copy[..<bytes.count]), to: stream)
    }
}

extension [ConnectionEvent] {
    var opened: [StreamCore] {
        compactMap { event in
            guard case .opened(let stream) = event else { return nil }
            return stream
        }
    }

    var issued: [LocalConnectionID] {
        compactMap { event in
            guard case .issued(let id) = event else { return nil }
            return id
        }
    }
}
