internal import MewBase
internal import MewLoop

/// What a leg has to write.
///
/// `@unchecked Sendable`: touched on the leg's loop only, by the leg and by the stream that it writes to.
final class LegOutput: StreamOutput, @unchecked Sendable {
    /// A relay that asks for more answers without reading them is not answered.
    static let maxAnswers = 64
    /// For one peer: while no more than 20 packets wait, a whole burst is taken. With none waiting the line would stand still until
    /// the connection has written.
    static let maxPackets = FrameQueue<UInt64>.burstPackets + 20
    /// For all peers together.
    static let maxBytes = 2 << 20

    private let queue = FrameQueue<UInt64>(
        .init(packets: LegOutput.maxPackets, bytes: LegOutput.maxBytes, answers: LegOutput.maxAnswers))
    private let loop: any Loop
    /// Somebody has been told that there is no room.
    private var isWaitedFor = false
    /// Called when there may be room again.
    var onRoom: (() -> Void)?
    /// Packets.
    private(set) var dropped = 0

    init(_ loop: any Loop) {
        self.loop = loop
    }

    var isEmpty: Bool { queue.isEmpty }

    /// One too many is not given.
    func answer(_ bytes: [UInt8]) {
        _ = queue.answer(bytes)
    }

    func hasRoom(for peer: UInt64) -> Bool {
        if queue.hasRoomForBurst(of: peer) { return true }
        expire()
        if queue.hasRoomForBurst(of: peer) { return true }
        isWaitedFor = true
        return false
    }

    func append(_ frame: AddressedPackets, packets: Int, to peer: UInt64, _ framing: LegFraming) {
        guard queue.hasRoom(for: peer, byteCount: frame.byteCount) else {
            dropped += packets
            return
        }
        queue.append(of: peer, packets: packets, byteCount: frame.byteCount, now: loop.now) {
            framing.encode(frame, to: $0)
        }
    }

    func removeAll() {
        dropped += queue.removeAll()
        tellOfRoom()
    }

    /// What is too old makes room as what has left does, and nothing may be left that leaves.
    private func expire() {
        let packets = queue.expire(now: loop.now)
        dropped += packets
        if packets > 0 { tellOfRoom() }
    }

    private func tellOfRoom() {
        guard isWaitedFor else { return }
        isWaitedFor = false
        onRoom?()
    }

    // MARK: - The stream

    func next(atMost limit: Int) -> UnsafeRawBufferPointer {
        expire()
        return queue.next(atMost: limit)
    }

    func left(_ byteCount: Int) {
        queue.left(byteCount)
        tellOfRoom()
    }
}
