import MewBase
import MewLoop
import MewSim

/// A question-and-answer protocol over lossy datagrams: the smallest thing with a pinned actor, continuations, timers
/// and cancellation. Byte 0 is the kind, byte 1 the number of the question.
actor Talker {
    private enum Kind: UInt8 { case question, answer }

    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: any Loop
    private let socket: any DatagramSocket
    private var waiting: [UInt8: CheckedContinuation<Bool, Never>] = [:]
    private var answered: Set<UInt8> = []
    private var flushes = false
    /// Everything that happened here, in order.
    private(set) var journal: [String] = []

    /// On the loop.
    init(node: SimNode, port: UInt16) throws {
        loop = node.loop
        socket = try node.network.bind(node.address(port: port), on: node.loop)
        unownedExecutor = loop.asUnownedSerialExecutor()
        socket.onReceive = { batch in
            let received = Received(batch)
            self.assumeIsolated { $0.receive(received) }
        }
    }

    /// Asks until there is an answer; false when the task is cancelled.
    func ask(_ number: UInt8, of peer: SocketAddress) async -> Bool {
        for attempt in 1... {
            send(.question, number, to: peer)
            let timer = loop.schedule(at: loop.now.advanced(by: .milliseconds(100))) {
                self.assumeIsolated { $0.giveUp(number) }
            }
            let hasAnswer = await answer(to: number)
            loop.cancel(timer)
            if hasAnswer {
                journal.append("\(loop.now.nanoseconds) \(number) answered, attempt \(attempt)")
                return true
            }
            if Task.isCancelled { return false }
        }
        return false
    }

    private func answer(to number: UInt8) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if answered.contains(number) || Task.isCancelled {
                    continuation.resume(returning: answered.contains(number))
                } else {
                    waiting[number] = continuation
                }
            }
        } onCancel: {
            loop.spawn { await self.giveUp(number) }
        }
    }

    private func giveUp(_ number: UInt8) {
        waiting.removeValue(forKey: number)?.resume(returning: false)
    }

    private func receive(_ received: Received) {
        for packet in received.packets {
            guard packet.count == 2, let kind = Kind(rawValue: packet[0]) else { continue }
            switch kind {
            case .question:
                journal.append("\(loop.now.nanoseconds) asked \(packet[1])")
                send(.answer, packet[1], to: received.from)
            case .answer:
                answered.insert(packet[1])
                waiting.removeValue(forKey: packet[1])?.resume(returning: true)
            }
        }
    }

    private func send(_ kind: Kind, _ number: UInt8, to peer: SocketAddress) {
        socket.reserve(2).copyBytes(from: [kind.rawValue, number])
        socket.commit(2, segmentSize: 2, to: peer, from: nil, ecn: 0)
        guard !flushes else { return }
        flushes = true
        loop.atEndOfTurn { self.assumeIsolated { $0.flush() } }
    }

    private func flush() {
        flushes = false
        socket.flush()
    }

    func close() { socket.close() }
}

/// A batch that outlives its callback.
struct Received: Sendable {
    let packets: [[UInt8]]
    let from: SocketAddress
    let to: SocketAddress
    let ecn: UInt8

    init(_ batch: ReceivedDatagrams) {
        packets = stride(from: 0, to: batch.bytes.count, by: batch.segmentSize).map {
            Array(batch.bytes[$0..<min($0 + batch.segmentSize, batch.bytes.count)])
        }
        from = batch.from
        to = batch.to
        ecn = batch.ecn
    }
}
