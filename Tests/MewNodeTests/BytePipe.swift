import MewNode
import MewWire
import Synchronization

/// One direction of a stream inside the test: bytes with a bound, cut into reads of a chosen size.
final class BytePipe: Sendable {
    private typealias ReadResult = Result<[UInt8]?, ChannelError>
    private typealias WriteResult = Result<Int, ChannelError>

    private struct State {
        var bytes: [UInt8] = []
        var isFinished = false
        var readEnd: ChannelError?
        var writeEnd: ChannelError?
        var reader: CheckedContinuation<ReadResult, Never>?
        var writer: (bytes: ArraySlice<UInt8>, continuation: CheckedContinuation<WriteResult, Never>)?
        /// Everything that ever passed.
        var log: [UInt8] = []
        var resetCode: UInt64?
        var stopCode: UInt64?
    }

    private let capacity: Int
    private let chunk: Int
    private let state = Mutex(State())

    init(capacity: Int, chunk: Int) {
        self.capacity = capacity
        self.chunk = chunk
    }

    var log: [UInt8] { state.withLock { $0.log } }
    var isFinished: Bool { state.withLock { $0.isFinished } }
    var resetCode: UInt64? { state.withLock { $0.resetCode } }
    var stopCode: UInt64? { state.withLock { $0.stopCode } }

    func read() async throws(ChannelError) -> [UInt8]? {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (reader: CheckedContinuation<ReadResult, Never>) in
                state.withLock { state in
                    guard !Task.isCancelled else { return reader.resume(returning: .failure(.cancelled)) }
                    precondition(state.reader == nil, "one reader")
                    state.reader = reader
                    serve(&state)
                }
            }
        } onCancel: {
            state.withLock { state in
                state.reader?.resume(returning: .failure(.cancelled))
                state.reader = nil
            }
        }
        return try result.get()
    }

    func write(_ bytes: [UInt8], from offset: Int, waits: Bool) async throws(ChannelError) -> Int {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (writer: CheckedContinuation<WriteResult, Never>) in
                state.withLock { state in
                    guard !Task.isCancelled || !waits else { return writer.resume(returning: .failure(.cancelled)) }
                    precondition(state.writer == nil, "one writer")
                    state.writer = (bytes[offset...], writer)
                    serve(&state)
                    guard !waits else { return }
                    state.writer?.continuation.resume(returning: .success(0))
                    state.writer = nil
                }
            }
        } onCancel: {
            state.withLock { state in
                guard waits else { return }
                state.writer?.continuation.resume(returning: .failure(.cancelled))
                state.writer = nil
            }
        }
        return try result.get()
    }

    func finish() {
        state.withLock { state in
            state.isFinished = true
            state.writeEnd = state.writeEnd ?? .finished
            serve(&state)
        }
    }

    func reset(code: UInt64) {
        state.withLock { state in
            state.resetCode = code
            state.readEnd = state.readEnd ?? .reset(code: code)
            state.writeEnd = .finished
            serve(&state)
        }
    }

    func stop(code: UInt64) {
        state.withLock { state in
            state.stopCode = code
            state.readEnd = .cancelled
            state.writeEnd = state.writeEnd ?? .reset(code: code)
            serve(&state)
        }
    }

    private func serve(_ state: inout State) {
        if let writer = state.writer {
            let count = min(writer.bytes.count, capacity - state.bytes.count)
            if let error = state.writeEnd {
                state.writer = nil
                writer.continuation.resume(returning: .failure(error))
            } else if count > 0 {
                state.bytes += writer.bytes.prefix(count)
                state.log += writer.bytes.prefix(count)
                state.writer = nil
                writer.continuation.resume(returning: .success(count))
            }
        }
        guard let reader = state.reader else { return }
        if let error = state.readEnd {
            state.reader = nil
            reader.resume(returning: .failure(error))
        } else if !state.bytes.isEmpty {
            state.reader = nil
            let piece = Array(state.bytes.prefix(chunk))
            state.bytes.removeFirst(piece.count)
            reader.resume(returning: .success(piece))
            serve(&state)
        } else if state.isFinished {
            state.reader = nil
            reader.resume(returning: .success(nil))
        }
    }
}

/// One end of a stream inside the test.
struct PipeStream: ByteStream {
    let incoming: BytePipe
    let outgoing: BytePipe

    static func pair(capacity: Int = 1 << 16, chunk: Int = .max) -> (near: PipeStream, far: PipeStream) {
        let forward = BytePipe(capacity: capacity, chunk: chunk)
        let backward = BytePipe(capacity: capacity, chunk: chunk)
        return (
            PipeStream(incoming: backward, outgoing: forward), PipeStream(incoming: forward, outgoing: backward)
        )
    }

    func read() async throws(ChannelError) -> [UInt8]? { try await incoming.read() }

    func write(_ bytes: [UInt8], from offset: Int) async throws(ChannelError) -> Int {
        try await outgoing.write(bytes, from: offset, waits: true)
    }

    func writeNow(_ bytes: [UInt8], from offset: Int) async throws(ChannelError) -> Int {
        try await outgoing.write(bytes, from: offset, waits: false)
    }

    func finish() async { outgoing.finish() }
    func reset(code: UInt64) async { outgoing.reset(code: code) }
    func stop(code: UInt64) async { incoming.stop(code: code) }
}
