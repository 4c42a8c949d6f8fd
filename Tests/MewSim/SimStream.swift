internal import MewBase
internal import MewLoop

/// One end of a simulated TCP connection, with the kernel's half of it.
///
///     opening ──▶ open ──▶ ended
///        └──────────────────▲
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
final class SimStream: StreamEnd, SimReadable, @unchecked Sendable {
    private enum Phase: Equatable {
        /// A SYN is on its way, ours or the answer to the peer's.
        case opening
        case open
        /// Nothing comes or goes any more; the error, when it broke.
        case ended(SystemError?)
    }

    let local: SocketAddress
    let peer: SocketAddress
    private let kernel: SimStreams
    private let loop: SimLoop
    /// Of a connection that the peer opened, until it is handed over.
    private var listener: SimStreamListener?
    private let isAnswering: Bool

    private var phase = Phase.opening
    private var sender = SimSender()
    private var receiver = SimReceiver()
    private var deadline: Instant?
    private var isTimerPlanned = false
    private var synTimeouts = 0

    // The process's half.
    private(set) var isOpen = true
    private var interest: Readiness = []
    private var handler: ((Readiness) -> Void)?
    private var isListed = false
    private var hasReportedEnd = false

    /// Linux: tcp_syn_retries.
    private static let maxSynTimeouts = 6
    /// Linux: tcp_retries2.
    private static let maxTimeouts = 15

    init(
        _ kernel: SimStreams, local: SocketAddress, peer: SocketAddress, on loop: SimLoop,
        _ listener: SimStreamListener? = nil
    ) {
        (self.kernel, self.local, self.peer, self.loop, self.listener) = (kernel, local, peer, loop, listener)
        isAnswering = listener != nil
    }

    private var now: UInt64 { kernel.world.now.nanoseconds }

    // MARK: - Segments

    func open() {
        sendSyn()
        arm()
    }

    private func sendSyn() {
        send(isAnswering ? [.synchronize, .acknowledge] : .synchronize, sequence: 0)
    }

    private func send(_ flags: SimSegment.Flags, sequence: UInt64, bytes: ArraySlice<UInt8> = []) {
        let segment = SimSegment(
            flags, sequence: sequence, acknowledged: receiver.next, window: receiver.window, bytes: bytes)
        kernel.send(segment, from: local, to: peer)
    }

    private func acknowledge() { send(.acknowledge, sequence: sender.next) }

    func receive(_ segment: SimSegment) {
        if segment.flags.contains(.reset) {
            return end(SystemError(errno: isOpening ? 111 : 104, doing: "using a connection"))
        }
        if segment.flags.contains(.synchronize) { return synchronize(segment) }
        if isOpening {
            guard isAnswering else { return }
            opened()
        }
        let acknowledged = sender.acknowledged
        if sender.receive(segment, now: now) { sendPiece(sender.first()) }
        // "When an ACK is received that acknowledges new data, restart the retransmission timer" (RFC 6298 §5.3): no other does.
        if sender.acknowledged > acknowledged { deadline = nil }
        let before = receiver.next
        receiver.receive(segment)
        transmit()
        let isOfUse = receiver.next != before
        if isOfUse || !segment.bytes.isEmpty || segment.flags.contains(.finish) { acknowledge() }
        // Who has closed its end reads no more.
        if isOfUse, !isOpen, !segment.bytes.isEmpty { return abort() }
        arm()
        if !endedInOrder() { notify() }
    }

    private var isOpening: Bool { phase == .opening }

    private func synchronize(_ segment: SimSegment) {
        if isAnswering {
            guard isOpening else { return acknowledge() }
            receiver = SimReceiver()
            receiver.opened()
            return open()
        }
        guard segment.flags.contains(.acknowledge) else { return }
        if isOpening {
            receiver.opened()
            opened()
        }
        acknowledge()
        transmit()
        notify()
    }

    private func opened() {
        phase = .open
        sender.opened()
        deadline = nil
        guard let listener else { return }
        self.listener = nil
        loop.post { [self] in
            // A process that was killed meanwhile accepts nothing.
            if isOpen { listener.accepted(self) }
        }
    }

    /// Sends what may leave.
    private func transmit() {
        guard phase == .open else { return }
        while let piece = sender.take(now: now) { sendPiece(piece) }
        arm()
    }

    private func sendPiece(_ piece: (sequence: UInt64, bytes: ArraySlice<UInt8>, isLast: Bool)) {
        send(piece.isLast ? [.acknowledge, .finish] : .acknowledge, sequence: piece.sequence, bytes: piece.bytes)
    }

    // MARK: - Time

    /// Begins to wait for what was sent, unless that is waited for already, and plans a look when there is none.
    func arm() {
        switch phase {
        case .opening:
            if deadline == nil { deadline = kernel.world.now.advanced(by: .seconds(1 << min(synTimeouts, 6))) }
        case .open:
            guard let timeout = sender.timeout else {
                deadline = nil
                return
            }
            if deadline == nil { deadline = kernel.world.now.advanced(by: .nanoseconds(Int64(timeout))) }
        case .ended:
            deadline = nil
        }
        plan()
    }

    private func plan() {
        guard let deadline, !isTimerPlanned else { return }
        isTimerPlanned = true
        kernel.world.plan(at: max(deadline, kernel.world.now)) { [self] in
            isTimerPlanned = false
            look()
        }
    }

    private func look() {
        guard let deadline, !kernel.isAsleep else { return }
        guard deadline <= kernel.world.now else { return plan() }
        self.deadline = nil
        switch phase {
        case .opening:
            synTimeouts += 1
            guard synTimeouts <= Self.maxSynTimeouts else { return timedOut() }
            sendSyn()
        case .open:
            sender.timedOut()
            guard sender.timeouts <= Self.maxTimeouts else { return timedOut() }
            transmit()
        case .ended:
            return
        }
        arm()
    }

    private func timedOut() { end(SystemError(errno: 110, doing: "using a connection")) }

    // MARK: - Ends

    private func end(_ error: SystemError?) {
        guard !isEnded else { return }
        phase = .ended(error)
        deadline = nil
        kernel.forget(self)
        notify()
    }

    private var isEnded: Bool { if case .ended = phase { true } else { false } }

    private func endedInOrder() -> Bool {
        guard phase == .open, sender.isFinishAcknowledged, receiver.isFinished || !isOpen else { return false }
        // Without the two minutes in which TCP answers what is late: a reset does no harm.
        if receiver.isFinished { end(nil) }
        return receiver.isFinished
    }

    private func abort() {
        send([.reset, .acknowledge], sequence: sender.next)
        end(SystemError(errno: 104, doing: "using a connection"))
    }

    // MARK: - The process

    func start(for interest: Readiness, _ handler: @escaping (Readiness) -> Void) throws(SystemError) {
        loop.checkIsolated()
        self.handler = handler
        self.interest = interest
        notify()
    }

    func wait(for interest: Readiness) {
        self.interest = interest
        notify()
    }

    private var readiness: Readiness {
        var readiness: Readiness = []
        if interest.contains(.readable), !receiver.bytes.isEmpty || receiver.isFinished || isEnded {
            readiness.insert(.readable)
        }
        if interest.contains(.writable), phase == .open, sender.room > 0 { readiness.insert(.writable) }
        if case .ended(let error) = phase, !hasReportedEnd {
            readiness.formUnion(error == nil ? .hungUp : [.failed, .hungUp])
        }
        return readiness
    }

    private func notify() {
        guard handler != nil, isOpen, !isListed, !readiness.isEmpty else { return }
        isListed = true
        loop.becameReadable(self)
    }

    /// Like epoll without EPOLLET: again and again until nothing is ready. The end is said once, unless somebody reads.
    func deliver() {
        isListed = false
        guard isOpen, let handler else { return }
        let readiness = readiness
        if isEnded { hasReportedEnd = true }
        if !readiness.isEmpty { handler(readiness) }
        notify()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        guard isOpen else { return .end }
        if !receiver.bytes.isEmpty {
            let wasFull = receiver.window < SimSegment.maxBytes
            let bytes = receiver.take(buffer.count)
            buffer.copyBytes(from: bytes)
            // The peer waits for room.
            if wasFull, phase == .open { acknowledge() }
            return .bytes(bytes.count)
        }
        if case .ended(let error?) = phase { return .failed(error) }
        return receiver.isFinished || isEnded ? .end : .nothing
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> StreamWrite {
        guard isOpen, !isEnded else { return .failed(SystemError(errno: 32, doing: "writing to a connection")) }
        guard phase == .open else { return .taken(0) }
        let count = min(bytes.count, sender.room)
        sender.append(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        transmit()
        return .taken(count)
    }

    func finish() {
        guard phase == .open, sender.finish == nil else { return }
        sender.end(at: sender.end)
        transmit()
    }

    func close(aborting: Bool) {
        guard isOpen else { return }
        isOpen = false
        handler = nil
        switch phase {
        case .ended: break
        case .opening: end(nil)
        case .open:
            guard !aborting, receiver.bytes.isEmpty else { return abort() }
            finish()
            _ = endedInOrder()
        }
    }
}
