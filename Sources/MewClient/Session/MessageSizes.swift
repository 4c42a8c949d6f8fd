import MewSession
import MewWire

/// How much memory the messages of a transcript take, about: their texts, and a fixed sum for each value around them.
///
/// Pure value. Kept beside the messages, because to measure all of them with every event would cost more than the event. Tell it
/// each change; a piece of streamed text only adds to its message.
struct MessageSizes: Sendable {
    private var sizes: [Int] = []
    /// Of all messages.
    private(set) var total = 0

    var count: Int { sizes.count }

    mutating func follow(_ change: TranscriptReducer.Change, by cause: DaemonMessage, in messages: [Message]) {
        switch change {
        case .nothing: break
        case .message(let index) where index < sizes.count: grow(index, by: cause, in: messages)
        case .message, .everything: measure(messages)
        case .prepended(let count):
            let new = messages.prefix(count).map(\.memoryBytes)
            sizes.insert(contentsOf: new, at: 0)
            total += new.reduce(0, +)
        }
    }

    private mutating func grow(_ index: Int, by cause: DaemonMessage, in messages: [Message]) {
        switch cause {
        case .provider(let provider):
            guard case .partDelta(let delta) = provider.event else { return set(index, messages[index].memoryBytes) }
            set(index, sizes[index] + delta.delta.utf8.count)
        case .toolProgress(let progress): set(index, sizes[index] + progress.chunk.utf8.count)
        default: set(index, messages[index].memoryBytes)
        }
    }

    private mutating func set(_ index: Int, _ size: Int) {
        total += size - sizes[index]
        sizes[index] = size
    }

    /// One message more is the usual case.
    private mutating func measure(_ messages: [Message]) {
        if messages.count == sizes.count + 1, let last = messages.last {
            sizes.append(last.memoryBytes)
            total += last.memoryBytes
        } else {
            sizes = messages.map(\.memoryBytes)
            total = sizes.reduce(0, +)
        }
    }

    mutating func removeFirst(_ count: Int) {
        total -= sizes.prefix(count).reduce(0, +)
        sizes.removeFirst(count)
    }

    /// How many of the oldest are to go so that at most `maxBytes` are left; never the newest.
    func excess(over maxBytes: Int) -> Int {
        var (left, count) = (total, 0)
        while left > maxBytes, count < sizes.count - 1 {
            left -= sizes[count]
            count += 1
        }
        return count
    }
}

extension Message {
    /// With what stands around the texts.
    fileprivate var memoryBytes: Int {
        512 + (assistant?.encoded().count ?? 0) + parts.reduce(0) { $0 + $1.memoryBytes }
    }
}

extension Part {
    fileprivate var memoryBytes: Int {
        let texts =
            switch content {
            case .text(let text): text.text.utf8.count
            case .reasoning(let reasoning):
                reasoning.text.utf8.count + (reasoning.signature ?? "").utf8.count
                    + (reasoning.encryptedContent ?? "").utf8.count
            case .file(let file): file.url.utf8.count + (file.filename ?? "").utf8.count
            case .toolCall(let call): call.state.memoryBytes
            case .toolResult: 0
            case .compaction(let compaction): (compaction.summary ?? "").utf8.count
            }
        return 256 + texts
    }
}

extension ToolState {
    fileprivate var memoryBytes: Int {
        let result =
            switch phase {
            case .pending: 0
            case .running(let output): output.utf8.count
            case .completed(let end):
                end.output.utf8.count + (end.diff ?? "").utf8.count + (end.metadata?.memoryBytes ?? 0)
                    + end.images.reduce(0) { $0 + $1.data.utf8.count }
            case .error(let reason): reason.utf8.count
            }
        return input.memoryBytes + result
    }
}

extension JSON {
    fileprivate var memoryBytes: Int {
        switch self {
        case .null, .bool, .integer, .number: 32
        case .string(let text): 32 + text.utf8.count
        case .array(let elements): elements.reduce(32) { $0 + $1.memoryBytes }
        case .object(let object): object.entries.reduce(32) { $0 + 32 + $1.key.utf8.count + $1.value.memoryBytes }
        }
    }
}
