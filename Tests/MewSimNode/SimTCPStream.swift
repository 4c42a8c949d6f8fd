package import MewBase
internal import MewLoop
package import MewRelay
internal import MewQUICCore
package import MewSim
package import MewWire

/// Reaches relays over the simulated network's TCP.
package struct SimRelayConnector: RelayConnector {
    private let machine: SimMachine
    private let cutsStreams: Bool
    private let triesHTTP3: Bool
    private let tellsAddresses: Bool

    /// - Parameters:
    ///   - cutsStreams: see `SimTCPStream`.
    ///   - triesHTTP3: on UDP at the number of the TCP port.
    ///   - tellsAddresses: relays can be asked by UDP as well.
    package init(
        _ node: SimNode, cutsStreams: Bool = false, triesHTTP3: Bool = false, tellsAddresses: Bool = false
    ) {
        machine = SimMachine(node: node)
        (self.cutsStreams, self.triesHTTP3, self.tellsAddresses) = (cutsStreams, triesHTTP3, tellsAddresses)
    }

    package func http3Target(of url: RelayURL) async throws(StreamFailure) -> HTTP3Target? {
        guard triesHTTP3, let address = SocketAddress("\(url.host):\(url.port)") else { return nil }
        return HTTP3Target(addresses: [address], demand: .nothing)
    }

    package func addresses(of url: RelayURL) async -> [SocketAddress] {
        tellsAddresses ? SimRelay.addresses(of: url) : []
    }

    /// - Parameter url: with a numeric host, and plain: what TLS does is the same in every network.
    package func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        guard !url.isSecure, let address = SocketAddress(url.authority) else {
            preconditionFailure("simulated relays are plain and have numeric hosts")
        }
        let loop = machine.node.loop
        guard let end = machine.node.streams.connect(to: address, on: loop) else {
            throw .system(SystemError(errno: 101, doing: "connecting to \(address)"))
        }
        let stream = SimTCPStream(end, to: address, on: loop, cuts: cutsStreams ? machine.node.entropy.uint64() : nil)
        try await stream.opened(within: StreamDialler.attemptLimit)
        return stream
    }
}

/// `@unchecked Sendable`: a simulated world runs on one thread.
private struct SimMachine: @unchecked Sendable {
    let node: SimNode
}

/// A simulated connection for tasks that wait. What is poured comes and leaves as the simulated kernel has it, or in pieces of any
/// size: a real one promises no other.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
final class SimTCPStream: TCPStream, @unchecked Sendable {
    private struct Waiter {
        let interest: Readiness
        let continuation: CheckedContinuation<Void, Never>
    }

    private let end: any StreamEnd
    let remote: SocketAddress?
    private let loop: SimLoop
    private var waiters: [Waiter] = []
    private var hasFailed = false
    private var isOpen = false
    /// What one writer writes stays together.
    private var isWriting = false
    private var cuts: SeededGenerator?

    /// - Parameter cuts: decides the pieces; nil for whole ones.
    init(_ end: any StreamEnd, to remote: SocketAddress, on loop: SimLoop, cuts: UInt64?) {
        (self.end, self.remote) = (end, remote)
        self.loop = loop
        self.cuts = cuts.map { SeededGenerator(seed: $0) }
    }

    func opened(within limit: Duration) async throws(StreamFailure) {
        let deadline = loop.now.advanced(by: limit)
        let timer = loop.schedule(at: deadline) { [self] in wakeAll() }
        defer { loop.cancel(timer) }
        do throws(SystemError) {
            try end.start(for: .writable) { [self] readiness in ready(readiness) }
        } catch {
            throw .system(error)
        }
        while !isOpen, !hasFailed, loop.now < deadline, !Task.isCancelled { await wait(for: .writable) }
        if isOpen, !Task.isCancelled { return }
        let failure = failure()
        end.close(aborting: true)
        throw Task.isCancelled ? .cancelled : hasFailed ? failure : .timedOut
    }

    private func failure() -> StreamFailure {
        var byte = UInt64(0)
        guard case .failed(let error) = withUnsafeMutableBytes(of: &byte, { end.read(into: $0) }) else {
            return .closed
        }
        return .system(error)
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { isOpen = true }
        if !readiness.isDisjoint(with: [.failed, .hungUp]) { hasFailed = true }
        wakeAll()
    }

    private func wait(for interest: Readiness) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled || hasFailed || !end.isOpen { return continuation.resume() }
                waiters.append(Waiter(interest: interest, continuation: continuation))
                end.wait(for: waiters.reduce(into: Readiness()) { $0.formUnion($1.interest) })
            }
        } onCancel: {
            wakeAll()
        }
    }

    /// Each looks again whether it has what it waits for.
    private func wakeAll() {
        let woken = waiters
        waiters = []
        if end.isOpen { end.wait(for: []) }
        for waiter in woken { waiter.continuation.resume() }
    }

    func read(maxBytes: Int) async throws(StreamFailure) -> [UInt8]? {
        while true {
            if Task.isCancelled { throw .cancelled }
            var result = StreamRead.nothing
            let bytes = [UInt8](unsafeUninitializedCapacity: maxBytes) { buffer, count in
                result = end.read(into: UnsafeMutableRawBufferPointer(buffer))
                if case .bytes(let read) = result { count = read }
            }
            switch result {
            case .bytes: return bytes
            case .end: return nil
            case .failed(let error): throw .system(error)
            case .nothing: await wait(for: .readable)
            }
        }
    }

    func write(_ bytes: [UInt8]) async throws(StreamFailure) {
        while isWriting {
            if Task.isCancelled { throw .cancelled }
            if hasFailed || !end.isOpen { throw .closed }
            await wait(for: .writable)
        }
        isWriting = true
        defer {
            isWriting = false
            wakeAll()
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            if Task.isCancelled { throw .cancelled }
            switch rest.withUnsafeBytes({ end.write($0) }) {
            case .failed(let error): throw end.isOpen ? .system(error) : .closed
            case .taken(0): await wait(for: .writable)
            case .taken(let count): rest = rest.dropFirst(count)
            }
        }
    }

    // MARK: - Pouring

    /// Waits first, as a real stream does: others have their turn between two reads.
    func read(into input: any StreamInput) async throws(StreamFailure) -> Bool {
        while true {
            await wait(for: .readable)
            if Task.isCancelled { throw .cancelled }
            var result = StreamRead.nothing
            input.fill { room in
                result = end.read(into: UnsafeMutableRawBufferPointer(rebasing: room.prefix(piece(of: room.count))))
                return if case .bytes(let count) = result { count } else { 0 }
            }
            switch result {
            case .bytes: return true
            case .end: return false
            case .failed(let error): throw .system(error)
            case .nothing: break
            }
        }
    }

    func write(from output: any StreamOutput) async throws(StreamFailure) {
        while true {
            if Task.isCancelled { throw .cancelled }
            let bytes = output.next(atMost: .max)
            if bytes.isEmpty { return }
            switch end.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(piece(of: bytes.count)))) {
            case .failed(let error): throw end.isOpen ? .system(error) : .closed
            case .taken(let count):
                output.left(count)
                if count < bytes.count { await wait(for: .writable) }
            }
        }
    }

    /// Every second one is a part, often a small one.
    private func piece(of byteCount: Int) -> Int {
        guard var random = cuts else { return byteCount }
        defer { cuts = random }
        switch random.below(4) {
        case 0: return 1 + Int(random.below(UInt64(byteCount)))
        case 1: return 1 + Int(random.below(UInt64(min(byteCount, 100))))
        default: return byteCount
        }
    }

    func close() async {
        end.close(aborting: false)
        wakeAll()
    }

    func exportKeyingMaterial(label: String, context: [UInt8], byteCount: Int) async -> [UInt8]? { nil }
}
