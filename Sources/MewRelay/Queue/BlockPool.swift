internal import Synchronization

/// Memory for what is under way, lent and taken back: a connection that says nothing holds none, and a busy one does not ask
/// the allocator, and the kernel behind it, for each burst.
final class BlockPool: Sendable {
    static let shared = BlockPool()

    /// `@unchecked Sendable`: memory that nobody else points to while it is kept here.
    private struct Block: @unchecked Sendable {
        let memory: UnsafeMutableRawBufferPointer
    }

    private let kept = Mutex<[Block]>([])

    /// Two busy connections' worth in both directions, and a few more: a megabyte.
    private static let maxKept = 8
    /// What is kept: as much as one read takes, and what a long queue needs.
    private static let keptBytes = 128 << 10
    /// Less than this is asked for by those who hold it for long, and the allocator is quick with it.
    private static let leastShared = 16 << 10
    private static let leastBytes = 4 << 10

    /// At least `byteCount` bytes of memory; give them back.
    func take(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        if byteCount >= Self.leastShared, byteCount <= Self.keptBytes {
            if let block = kept.withLock({ $0.popLast() }) { return block.memory }
            return .allocate(byteCount: Self.keptBytes, alignment: 16)
        }
        return .allocate(byteCount: max(Self.leastBytes, byteCount), alignment: 16)
    }

    func giveBack(_ memory: UnsafeMutableRawBufferPointer) {
        let block = Block(memory: memory)
        let isKept =
            memory.count == Self.keptBytes
            && kept.withLock {
                guard $0.count < Self.maxKept else { return false }
                $0.append(block)
                return true
            }
        if !isKept { memory.deallocate() }
    }
}

/// Bytes in a row: appended behind, taken away in front. Holds memory only while it holds bytes.
struct PooledBytes: ~Copyable {
    private var block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var start = 0
    private var end = 0

    deinit {
        if block.baseAddress != nil { BlockPool.shared.giveBack(block) }
    }

    var isEmpty: Bool { start == end }
    var count: Int { end - start }

    /// All of them; valid until the next change.
    var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: block[start..<end]) }

    /// Lends all the room behind the last byte, at least `least`, to `write`, which returns how much of it is used now.
    mutating func append(atLeast least: Int, _ write: (UnsafeMutableRawBufferPointer) -> Int) {
        if block.count - end < least { makeRoom(least) }
        end += write(UnsafeMutableRawBufferPointer(rebasing: block[end...]))
        if isEmpty { release() }
    }

    private mutating func makeRoom(_ least: Int) {
        let needed = count + least
        // Worth a move only while little is moved.
        guard needed > block.count || count > block.count / 2 else { return move(to: block) }
        let (old, larger) = (block, BlockPool.shared.take(max(needed, min(2 * block.count, 2 * needed))))
        move(to: larger)
        if old.baseAddress != nil { BlockPool.shared.giveBack(old) }
    }

    private mutating func move(to target: UnsafeMutableRawBufferPointer) {
        target.copyMemory(from: UnsafeRawBufferPointer(bytes))
        (block, start, end) = (target, 0, count)
    }

    mutating func removeFirst(_ byteCount: Int) {
        start += byteCount
        if isEmpty { release() }
    }

    /// Takes `byteCount` bytes away behind the first `kept`.
    mutating func remove(_ byteCount: Int, behind kept: Int) {
        let first = UnsafeRawBufferPointer(rebasing: block[start..<(start + kept)])
        UnsafeMutableRawBufferPointer(rebasing: block[(start + byteCount)...]).copyMemory(from: first)
        removeFirst(byteCount)
    }

    private mutating func release() {
        if block.baseAddress != nil { BlockPool.shared.giveBack(block) }
        (block, start, end) = (UnsafeMutableRawBufferPointer(start: nil, count: 0), 0, 0)
    }
}
