package import MewBase
package import MewLoop

/// A byte stream inside TLS, the side that dialled.
package actor TLSStream: TCPStream {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: EventLoop
    private let socket: StreamSocket
    package nonisolated let remote: SocketAddress?
    private let engine: TLSEngine
    private var plaintext: [UInt8] = []
    private var taken = 0
    /// What has come for `read(into:)` and is not decrypted yet.
    private let sealed = SealedInput()
    /// Why nothing more can be read: told after what came before it, and again to whoever reads once more.
    private var failure: StreamFailure?
    /// Why the peer was not told what reading made us say. It may have said why it goes before that.
    private var unsaid: StreamFailure?
    private var isFlushing = false
    /// Who waits until what another has begun to write is written.
    private var flushers: [CheckedContinuation<Void, Never>] = []

    /// Read at once at most: one largest record.
    private static let blockBytes = 17 << 10
    /// RFC 8446 §5.1.
    private static let recordBytes = 16 << 10

    private init(
        _ socket: StreamSocket, to remote: SocketAddress?, trust: TLSTrust, host: String, on loop: EventLoop
    ) throws(TLSFailure) {
        (self.socket, self.remote) = (socket, remote)
        self.loop = loop
        engine = try TLSEngine(client: trust, host: host)
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// Shakes hands over a connected socket, which is closed when that fails. How long it may take is the caller's to limit,
    /// by cancelling.
    ///
    /// - Parameters:
    ///   - remote: whom the socket is connected to.
    ///   - host: what the certificate must be for.
    package static func connect(
        over socket: StreamSocket, to remote: SocketAddress? = nil, trust: TLSTrust, host: String, on loop: EventLoop
    ) async throws(StreamFailure) -> TLSStream {
        do throws(TLSFailure) {
            let stream = try TLSStream(socket, to: remote, trust: trust, host: host, on: loop)
            try await stream.shakeHands()
            return stream
        } catch {
            await socket.close()
            throw .tls(error)
        }
    }

    private func shakeHands() async throws(TLSFailure) {
        do throws(StreamFailure) {
            try start()
            try await flush()
            while !engine.isEstablished {
                guard try await fill() else { throw .tls(.broken("the connection ended during the handshake")) }
            }
            if let failure = failure ?? unsaid { throw failure }
        } catch .tls(let failure) {
            throw failure
        } catch {
            throw .broken(error.description)
        }
    }

    private func start() throws(StreamFailure) {
        do throws(TLSFailure) {
            try engine.start()
        } catch {
            throw .tls(error)
        }
    }

    package func read(maxBytes: Int) async throws(StreamFailure) -> [UInt8]? {
        precondition(maxBytes > 0, "reading nothing looks like an end")
        while taken == plaintext.count {
            guard try await fill() else { return nil }
        }
        let end = min(plaintext.count, taken + maxBytes)
        defer {
            taken = end
            if taken == plaintext.count { (plaintext, taken) = ([], 0) }
        }
        return Array(plaintext[taken..<end])
    }

    /// Reads one block, waiting for it; false at the end. An end without goodbye is taken as one: the protocols inside say
    /// themselves whether they are complete.
    private func fill() async throws(StreamFailure) -> Bool {
        if let failure { throw failure }
        if engine.isEnded { return false }
        let block: [UInt8]?
        do throws(StreamError) {
            block = try await socket.read(maxBytes: Self.blockBytes)
        } catch {
            throw StreamFailure(error)
        }
        guard let block else { return try end() }
        decrypt(block)
        await flushReply()
        return true
    }

    /// False: nothing more comes.
    private func end() throws(StreamFailure) -> Bool {
        if let unsaid { throw unsaid }
        return false
    }

    package func read(into input: any StreamInput) async throws(StreamFailure) -> Bool {
        if taken < plaintext.count {
            input.append(Array(plaintext[taken...]))
            (plaintext, taken) = ([], 0)
            return true
        }
        var isEmpty = true
        while isEmpty {
            guard try await fillSealed() else { return false }
            decrypt(sealed.bytes) { record in
                isEmpty = false
                input.append(record)
            }
            sealed.clear()
            await flushReply()
        }
        return true
    }

    private func fillSealed() async throws(StreamFailure) -> Bool {
        if let failure { throw failure }
        if engine.isEnded { return false }
        let isThere: Bool
        do throws(StreamError) {
            isThere = try await socket.read(into: sealed)
        } catch {
            throw StreamFailure(error)
        }
        return isThere ? true : try end()
    }

    private func decrypt(_ block: [UInt8]) {
        block.withUnsafeBytes { bytes in decrypt(bytes) { plaintext += $0 } }
    }

    private func decrypt(_ bytes: UnsafeRawBufferPointer, _ deliver: (UnsafeRawBufferPointer) -> Void) {
        do throws(TLSFailure) {
            try engine.receive(bytes, deliver)
        } catch {
            failure = .tls(error)
        }
    }

    package func write(_ bytes: [UInt8]) async throws(StreamFailure) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(TLSFailure) in try engine.write(bytes) }
        }
        do throws(TLSFailure) {
            try result.get()
        } catch {
            throw .tls(error)
        }
        try await flush()
    }

    /// What is sealed cannot be overtaken any more, so no more than one record's worth is at a time.
    package func write(from output: any StreamOutput) async throws(StreamFailure) {
        while try seal(output) { try await flush() }
    }

    /// False when there is nothing.
    private func seal(_ output: any StreamOutput) throws(StreamFailure) -> Bool {
        let bytes = output.next(atMost: Self.recordBytes)
        do throws(TLSFailure) {
            try engine.write(bytes)
        } catch {
            throw .tls(error)
        }
        output.left(bytes.count)
        return !bytes.isEmpty
    }

    /// What reading made the library say to the peer. A reader does not wait for a writer that waits for the peer, which may
    /// itself wait to be read: what is there leaves with what the writer writes.
    private func flushReply() async {
        guard !isFlushing else { return }
        do throws(StreamFailure) {
            try await flush()
        } catch {
            // When an alert cannot be sent, what it tells is still the better reason; and so is what the peer says.
            unsaid = unsaid ?? error
        }
    }

    /// Writes what the engine has to say. Records leave in the order they were made: one task writes at a time, for all.
    private func flush() async throws(StreamFailure) {
        while isFlushing { await withCheckedContinuation { flushers.append($0) } }
        guard engine.hasOutput else { return }
        isFlushing = true
        defer {
            isFlushing = false
            let waiting = flushers
            flushers = []
            for flusher in waiting { flusher.resume() }
        }
        while engine.hasOutput {
            do throws(StreamError) {
                try await socket.write(engine.takeOutput())
            } catch {
                throw StreamFailure(error)
            }
        }
    }

    package func close() async {
        // RFC 8446 §6.1: so that the peer knows that nothing was cut off. Without waiting: one that takes nothing must not hold
        // us up.
        engine.finish()
        if !isFlushing, engine.hasOutput { await socket.writeAtOnce(engine.takeOutput()) }
        await socket.close()
    }

    package func exportKeyingMaterial(label: String, context: [UInt8], byteCount: Int) async -> [UInt8]? {
        engine.exportKeyingMaterial(label: label, context: context, byteCount: byteCount)
    }
}

/// Ciphertext, in memory that is borrowed while it is read and decrypted.
///
/// `@unchecked Sendable`: touched on the loop of its stream only.
private final class SealedInput: StreamInput, @unchecked Sendable {
    private var pending = PooledBytes()

    /// Four records with what is around them.
    private static let room = 66 << 10

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(pending.bytes) }

    func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) {
        pending.append(atLeast: Self.room, read)
    }

    func clear() {
        pending.removeFirst(pending.count)
    }
}
