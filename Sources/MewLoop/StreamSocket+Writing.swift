internal import CSys
internal import Glibc
internal import MewBase

extension StreamSocket {
    /// Returns when the kernel has taken all of it. A task that is cancelled stops waiting; its bytes still leave whole if
    /// the first of them has.
    package func write(_ bytes: [UInt8]) async throws(StreamError) {
        guard !bytes.isEmpty else { return }
        writerNumber += 1
        let number = writerNumber
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, StreamError>, Never>) in
                guard descriptor >= 0, !finishes else { return continuation.resume(returning: .failure(.closed)) }
                if let failure { return continuation.resume(returning: .failure(failure)) }
                guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
                writers.append(Writer(number: number, bytes: bytes, continuation: continuation))
                if writers.count == 1 { pump() }
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.cancelWriter(number) } }
        }
        try result.get()
    }

    private func cancelWriter(_ number: UInt64) {
        guard let index = writers.firstIndex(where: { $0.number == number }) else { return }
        let waiting = writers[index].continuation
        writers[index].continuation = nil
        if writers[index].sent == 0 { writers.remove(at: index) }
        waiting?.resume(returning: .failure(.cancelled))
        settleWriters()
    }

    func pump() {
        while let writer = writers.first {
            let left = writer.bytes.count - writer.sent
            let count = writer.bytes.withUnsafeBytes { hand($0[writer.sent...]) }
            if count < left { unsent?.reached(descriptor, now: loop.now) }
            if count == -Int64(EAGAIN) { break }
            guard count >= 0 else {
                return failWriters(.system(SystemError(errno: Int32(-count), doing: "writing to a socket")))
            }
            writers[0].sent += Int(count)
            guard writers[0].sent == writer.bytes.count else { continue }
            writers.removeFirst()
            writer.continuation?.resume(returning: .success(()))
        }
        settleWriters()
    }

    /// What the kernel took, or minus an errno value.
    private func hand(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int64 {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        let offered = min(bytes.count, unsent?.room(descriptor) ?? .max)
        return offered > 0 ? csys_stream_write(descriptor, bytes.baseAddress, offered) : -Int64(EAGAIN)
    }

    /// Writes what `output` has, as the kernel takes it, and returns when it has no more. What was offered and not taken when
    /// this throws has not left. One output at a time, and no other writer beside it.
    package func write(from output: any StreamOutput) async throws(StreamError) {
        while true {
            guard descriptor >= 0, !finishes else { throw .closed }
            if let failure { throw failure }
            guard !Task.isCancelled else { throw .cancelled }
            if writers.isEmpty {
                let bytes = output.next(atMost: .max)
                if bytes.isEmpty { return }
                let count = hand(bytes[...])
                if count > 0 { output.left(Int(count)) }
                if count == Int64(bytes.count) { continue }
                unsent?.reached(descriptor, now: loop.now)
                guard count >= 0 || count == -Int64(EAGAIN) else {
                    throw .system(SystemError(errno: Int32(-count), doing: "writing to a socket"))
                }
            }
            await writable()
        }
    }

    private func writable() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                precondition(pourer == nil, "a stream has one output at a time")
                guard descriptor >= 0, failure == nil, !Task.isCancelled else { return continuation.resume() }
                pourer = continuation
                updateWatch()
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.wakePourer() } }
        }
    }

    func wakePourer() {
        let waiting = pourer
        pourer = nil
        waiting?.resume()
    }

    func settleWriters() {
        if writers.isEmpty, finishes, descriptor >= 0 { csys_stream_finish(descriptor) }
        updateWatch()
    }

    func failWriters(_ error: StreamError) {
        let failed = writers
        writers = []
        for writer in failed { writer.continuation?.resume(returning: .failure(error)) }
        settleWriters()
    }

    /// Writes what the kernel takes now; nothing while others write. For a goodbye that nobody waits for.
    package func writeAtOnce(_ bytes: [UInt8]) {
        guard descriptor >= 0, failure == nil, writers.isEmpty, !finishes else { return }
        // Whether it was all of it is of no interest to whoever closes now.
        _ = bytes.withUnsafeBytes { csys_stream_write(descriptor, $0.baseAddress, $0.count) }
    }
}
