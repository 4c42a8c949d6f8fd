public import MewWire

/// The end of a session's journal, as far as it may ever be replayed (spec/native-wire.md §2, `after_seq`).
///
/// Pure value. Sequence numbers start at 1 and have no holes. A client that is further behind than `maxReplayEvents` or
/// `maxReplayBytes` gets a snapshot, so nothing older is kept in memory; the store keeps more.
public struct Journal: Sendable {
    /// More would take longer to play than a snapshot takes to draw.
    public static let maxReplayEvents = 2_000
    /// One second of a link of 8 Mbit/s.
    public static let maxReplayBytes = 1 << 20

    /// The number of the newest event; zero before the first.
    public private(set) var head: SequenceNumber
    public let epoch: Epoch

    /// The events `head - events.count + 1 … head`.
    private var events = ChunkedFrames()
    private var bytes = 0

    public init(epoch: Epoch) {
        self.epoch = epoch
        head = .zero
    }

    /// - Parameter tail: the newest events, without a gap, up to `head`.
    init(epoch: Epoch, head: SequenceNumber, tail: [EventRow]) {
        self.epoch = epoch
        self.head = head
        for event in tail { keep(event.body) }
    }

    var keptEvents: Int { events.count }

    /// The number that the next event will have; it is part of the event's own text.
    var next: SequenceNumber { head.next }

    mutating func append(_ body: [UInt8]) -> EventRow {
        head = head.next
        keep(body)
        return EventRow(sequence: head, body: body)
    }

    /// What a client gets that has everything up to `sequence` of `epoch`; nil when only a snapshot helps.
    func replay(after sequence: SequenceNumber?, epoch: Epoch?) -> [[UInt8]]? {
        guard let sequence, epoch == self.epoch, sequence <= head else { return nil }
        let missing = head.rawValue - sequence.rawValue
        guard missing <= UInt64(keptEvents) else { return nil }
        return events.suffix(Int(missing))
    }

    private mutating func keep(_ body: [UInt8]) {
        events.append(body)
        bytes += body.count
        while keptEvents > Self.maxReplayEvents || bytes > Self.maxReplayBytes { bytes -= events.removeFirst().count }
    }
}
