internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewWire

extension RelayConnection {
    /// Queues a frame of ours, in front of what others have sent.
    func answer(_ frame: RelayFrame) {
        send(WebSocketWriter.frame(.binary, frame.encoded))
    }

    /// The same for what the peer can do without: nobody is cut off because of what others did.
    func hint(_ frame: RelayFrame) {
        guard socket.isOpen else { return }
        queue.hint(WebSocketWriter.frame(.binary, frame.encoded))
        hub.flushLater(self)
    }

    /// Queues bytes of ours; they leave at the end of the turn.
    func send(_ bytes: [UInt8]) {
        guard socket.isOpen else { return }
        guard queue.answer(bytes) else { return hub.drop(self, .stalled) }
        hub.flushLater(self)
    }

    /// Queues the last bytes and reads nothing more. The node, if it is one, is not here any more.
    ///
    /// - Parameters:
    ///   - code: of RFC 6455 §7.4; with a reason that the peer can show.
    func end(code: UInt16, _ reason: String, _ cause: RelayHub.Cause) {
        finish(with: WebSocketWriter.close(code: code, reason: reason), cause)
    }

    func finish(with bytes: [UInt8], _ cause: RelayHub.Cause) {
        if case .closing = stage { return }
        hub.leave(self, cause)
        stage = .closing(until: hub.now.advanced(by: Self.lingering))
        unread = []
        send(bytes)
        rearm()
    }

    /// Hands the kernel what it takes.
    func flush() {
        guard socket.isOpen else { return }
        expire()
        guard tls == nil ? sendQueued() : sealQueued() else { return }
        unblocked()
        if case .closing = stage { finishSocket() }
    }

    /// After the last byte: the peer learns that there is no more, and its own end is waited for, so that what it has sent
    /// meanwhile does not make the kernel reset the connection before the peer has read our last bytes.
    private func finishSocket() {
        if let tls {
            tls.finish()
            guard sendRecords(tls) else { return }
        }
        socket.finish()
    }

    /// Writes as long as something waits. False when the socket takes no more, or is gone.
    ///
    /// Without TLS the kernel chooses how much it takes: little while much is unsent (TCP_NOTSENT_LOWAT).
    private func sendQueued() -> Bool {
        while !queue.isEmpty {
            let bytes = queue.next(atMost: .max)
            guard let count = write(bytes) else { return false }
            queue.left(count)
            if count < bytes.count { return false }
        }
        return true
    }

    /// With TLS what is sealed cannot be overtaken any more, so no more than one record's worth is at a time.
    private func sealQueued() -> Bool {
        guard let tls else { return false }
        while sendRecords(tls) {
            if queue.isEmpty { return true }
            let bytes = queue.next(atMost: RelayHub.recordBytes)
            let result = Result { () throws(TLSFailure) in try tls.write(bytes) }
            guard case .success = result else {
                hub.drop(self, .closed)
                return false
            }
            queue.left(bytes.count)
        }
        return false
    }

    private func sendRecords(_ tls: TLSEngine) -> Bool {
        while true {
            if unsentStart == unsent.count { (unsent, unsentStart) = (tls.takeOutput(), 0) }
            guard !unsent.isEmpty else { return true }
            let count = unsent.withUnsafeBytes { write(UnsafeRawBufferPointer(rebasing: $0[unsentStart...])) }
            guard let count else { return false }
            unsentStart += count
            if unsentStart < unsent.count { return false }
        }
    }

    /// How much the socket has taken; nil when it is gone.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
        switch socket.write(bytes) {
        case .taken(let count):
            if count < bytes.count { blocked(hasTaken: count > 0) }
            return count
        case .failed:
            hub.drop(self, .closed)
            return nil
        }
    }

    private func blocked(hasTaken: Bool) {
        let wasBlocked = blockedSince != nil
        if hasTaken || !wasBlocked { blockedSince = hub.now }
        guard !wasBlocked else { return }
        updateInterest()
        rearm()
    }

    private func unblocked() {
        guard blockedSince != nil else { return }
        blockedSince = nil
        updateInterest()
    }
}
