import MewBase
import MewQUICCore
import MewSim

/// Moves `byteCount` bytes each way on each of several streams and checks every byte.
///
/// The client opens the streams and writes; the server reads and writes its own bytes back; both end their directions.
final class Transfer {
    private struct Progress {
        var toWrite: Int
        var read = 0
        var sawEnd = false
        var isFinished = false
    }

    private struct Key: Hashable {
        let side: Side
        let id: Int64
    }

    private unowned let pair: CorePair
    private let byteCount: Int
    private let streamCount: Int
    private var progress: [Key: Progress] = [:]
    private(set) var mismatches = 0
    private var opened = 0
    /// Sides that do not read.
    var paused: Set<Side> = []

    init(_ pair: CorePair, streams: Int, bytes: Int) {
        self.pair = pair
        streamCount = streams
        byteCount = bytes
        // Held by the pair, which outlives us: its last steps still come here.
        pair.onEvent = { side, event in self.handle(side, event) }
    }

    var isComplete: Bool {
        progress.count == streamCount * 2 && progress.values.allSatisfy { $0.sawEnd && $0.toWrite == 0 }
    }

    func bytesRead(by side: Side) -> Int {
        progress.filter { $0.key.side == side }.reduce(0) { $0 + $1.value.read }
    }

    private func handle(_ side: Side, _ event: ConnectionEvent) {
        guard let core = pair.core(side) else { return }
        switch event {
        case .established where side == .client, .streamsAllowed where side == .client:
            // One stream until the listener has authorized us, the others afterwards.
            while opened < streamCount, let stream = try? core.openStream(.bidirectional) {
                opened += 1
                begin(stream, on: side)
            }
        case .opened(let stream): begin(stream, on: side)
        case .readable(let stream) where !paused.contains(side): drain(stream, on: side)
        case .writable(let stream): fill(stream, on: side)
        default: break
        }
    }

    private func begin(_ stream: StreamCore, on side: Side) {
        progress[Key(side: side, id: stream.id)] = Progress(toWrite: byteCount)
        fill(stream, on: side)
    }

    func resume(_ side: Side, streams: [StreamCore]) {
        paused.remove(side)
        for stream in streams { drain(stream, on: side) }
    }

    private func drain(_ stream: StreamCore, on side: Side) {
        guard let core = pair.core(side), var state = progress[Key(side: side, id: stream.id)] else { return }
        while let chunk = core.read(stream) {
            let expected = Pattern.bytes(at: state.read, count: chunk.count, salt: Self.salt(stream, from: side.other))
            if chunk != expected { mismatches += 1 }
            state.read += chunk.count
        }
        if stream.receiving == .ended { state.sawEnd = state.read == byteCount }
        progress[Key(side: side, id: stream.id)] = state
    }

    private func fill(_ stream: StreamCore, on side: Side) {
        let key = Key(side: side, id: stream.id)
        guard let core = pair.core(side), var state = progress[key] else { return }
        while state.toWrite > 0 {
            let bytes = Pattern.bytes(
                at: byteCount - state.toWrite, count: state.toWrite, salt: Self.salt(stream, from: side))
            let written = (try? core.write(bytes, to: stream)) ?? 0
            state.toWrite -= written
            if written < bytes.count { break }
        }
        progress[key] = state
        if state.toWrite == 0 { core.finish(stream) }
    }

    private static func salt(_ stream: StreamCore, from side: Side) -> Int {
        Int(stream.id) * 7 + side.rawValue * 101
    }
}
