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
        while true {
            guard sendUnsent() else { return }
            guard !queue.isEmpty else { break }
            guard tls == nil ? sendQueued() : sealQueued() else { return }
        }
        if let tls, tls.hasOutput {
            unsent = tls.takeOutput()
            guard sendUnsent() else { return }
        }
        queue.release()
        if case .closing = stage { finishSocket() }
    }

    /// After the last byte: the peer learns that there is no more, and its own end is waited for, so that what it has sent
    /// meanwhile does not make the kernel reset the connection before the peer has read our last bytes.
    private func finishSocket() {
        if let tls {
            tls.finish()
            if tls.hasOutput {
                unsent = tls.takeOutput()
                guard sendUnsent() else { return }
            }
        }
        socket.finish()
    }

    /// False when the socket takes no more, or is gone.
    private func sendUnsent() -> Bool {
        while unsentStart < unsent.count {
            let outcome = unsent.withUnsafeBytes {
                socket.write(UnsafeRawBufferPointer(rebasing: $0[unsentStart...]))
            }
            switch outcome {
            case .taken(0):
                blocked()
                return false
            case .taken(let count):
                unsentStart += count
                blockedSince = nil
            case .failed:
                hub.drop(self, .closed)
                return false
            }
        }
        if !unsent.isEmpty { (unsent, unsentStart) = ([], 0) }
        updateInterest()
        return true
    }

    private func blocked() {
        if blockedSince == nil { blockedSince = hub.now }
        updateInterest()
        rearm()
    }

    /// Without TLS the kernel chooses how much it takes: little while much is unsent (TCP_NOTSENT_LOWAT).
    private func sendQueued() -> Bool {
        let target = hub.outScratch
        let filled = queue.fill(target, atMost: target.count)
        let bytes = UnsafeRawBufferPointer(rebasing: target[..<filled.byteCount])
        switch socket.write(bytes) {
        case .taken(let count):
            let gone = queue.consume(count)
            // The rest of a frame that has begun to leave must leave before anything else.
            if gone > count { unsent = Array(bytes[count..<gone]) }
            guard count < bytes.count else { return true }
            if unsent.isEmpty { return waitForRoom() }
            return sendUnsent()
        case .failed:
            hub.drop(self, .closed)
            return false
        }
    }

    /// Nothing has begun to leave, and the socket takes nothing: wait as if something had.
    private func waitForRoom() -> Bool {
        let filled = queue.fill(hub.outScratch, atMost: 1)
        _ = queue.consume(filled.byteCount)
        unsent = Array(hub.outScratch[..<filled.byteCount])
        blocked()
        return false
    }

    /// With TLS what is sealed cannot be overtaken any more, so no more than one record's worth is at a time.
    private func sealQueued() -> Bool {
        guard let tls else { return false }
        let filled = queue.fill(hub.outScratch, atMost: RelayHub.recordBytes)
        _ = queue.consume(filled.byteCount)
        let result = Result { () throws(TLSFailure) in
            try tls.write(UnsafeRawBufferPointer(rebasing: hub.outScratch[..<filled.byteCount]))
        }
        guard case .success = result else {
            hub.drop(self, .closed)
            return false
        }
        unsent = tls.takeOutput()
        return true
    }
}
