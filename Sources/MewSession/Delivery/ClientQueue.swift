public import MewWire

/// The frames that wait for one client, bounded, so that a slow client costs itself a gap and the others nothing (NEEDS N-31).
///
///                push fits                          push
///     flowing ───────────────► flowing     silent ─────────► silent (stream frames are dropped)
///        │    push overflows                  │  resume
///        └───────────────────► silent         └─────────► flowing
///
/// Replies to the client's own requests are kept through a gap; whoever feeds the queue must not take more requests while
/// `hasRoom` is false, which bounds them.
///
/// Pure value: no tasks, no clock.
public struct ClientQueue: Sendable {
    /// More than any replay (2,000 events) with the answers around it.
    public static let maxFrames = 4_096
    /// Room for a snapshot for a phone (1 MiB) and a replay (1 MiB) behind a backlog of the same size.
    public static let maxBytes = 4 << 20
    /// From here on the client must read before it may ask for more. A page of history has 2 MiB.
    public static let roomyBytes = 1 << 20
    public static let roomyFrames = 256

    /// What a frame is to the client.
    public enum Kind: Hashable, Sendable {
        /// Part of the session's stream. `upTo` is the event the client has once it has this frame.
        case stream(upTo: SequenceNumber?)
        /// The answer to something it asked.
        case reply
    }

    public enum Push: Hashable, Sendable {
        case queued
        /// Everything of the stream was dropped; the client has the stream up to this event.
        case overflowed(after: SequenceNumber)
        /// Dropped: the client was told of a gap and has not resumed.
        case silent
    }

    private struct Entry: Sendable {
        let frame: [UInt8]
        let kind: Kind
    }

    private var entries: [Entry] = []
    /// The first entry that is still to be taken.
    private var start = 0
    public private(set) var bytes = 0
    public private(set) var isSilent = false
    /// The last event up to which the client has the stream: it was taken out for it, or it had it before.
    public private(set) var taken = SequenceNumber.zero

    public init() {}

    public var isEmpty: Bool { start == entries.count }
    public var count: Int { entries.count - start }

    /// False while the client should read before it asks for more.
    public var hasRoom: Bool { bytes <= Self.roomyBytes && count <= Self.roomyFrames }

    public mutating func push(_ frame: [UInt8], _ kind: Kind) -> Push {
        switch kind {
        case .reply:
            append(Entry(frame: frame, kind: kind))
            return .queued
        case .stream:
            guard !isSilent else { return .silent }
            // A frame that is larger than the bound must still reach a client that keeps up.
            guard isEmpty || (count < Self.maxFrames && bytes + frame.count <= Self.maxBytes) else { return overflow() }
            append(Entry(frame: frame, kind: kind))
            return .queued
        }
    }

    /// A frame of the stream that there is no room for.
    public mutating func overflow() -> Push {
        guard !isSilent else { return .silent }
        dropStream()
        isSilent = true
        return .overflowed(after: taken)
    }

    /// Of the next frame.
    public var nextBytes: Int? { isEmpty ? nil : entries[start].frame.count }

    /// The next frame for the transport.
    public mutating func pop() -> [UInt8]? {
        guard start < entries.count else { return nil }
        let entry = entries[start]
        entries[start] = Entry(frame: [], kind: .reply)
        start += 1
        bytes -= entry.frame.count
        if case .stream(let upTo?) = entry.kind { taken = upTo }
        if start == entries.count || start > 1_024 {
            entries.removeFirst(start)
            start = 0
        }
        return entry.frame
    }

    /// The client asked to go on; what it missed is pushed next.
    public mutating func resume() {
        isSilent = false
    }

    /// The client attaches, and has the stream of this session up to that event. Numbers of a former session mean nothing here.
    public mutating func restart(after sequence: SequenceNumber) {
        isSilent = false
        taken = sequence
    }

    private mutating func append(_ entry: Entry) {
        entries.append(entry)
        bytes += entry.frame.count
    }

    private mutating func dropStream() {
        entries = entries[start...].filter { $0.kind == .reply }
        start = 0
        bytes = entries.reduce(0) { $0 + $1.frame.count }
    }
}
