package import MewBase

/// The timers of one loop: which action is due next.
///
/// Two timers with the same deadline fire in the order in which they were scheduled, so that a run can be repeated.
/// Cancelling removes at once: a QUIC connection re-arms its timer with almost every packet, and dead entries would
/// pile up. Everything costs O(log n).
package struct TimerHeap {
    private struct Entry {
        let deadline: UInt64
        let sequence: UInt64
        let slot: Int

        func isBefore(_ other: Entry) -> Bool {
            deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence
        }
    }

    private struct Slot {
        /// Counts the uses of this slot, so that an old number never names a new timer.
        var generation: UInt64 = 0
        /// Index in `heap`; -1 when free.
        var position = -1
        var action: (() -> Void)?
    }

    /// A timer's number is generation (40 bits) and slot (24 bits): 16 million timers at once, and each slot lives
    /// through a trillion uses.
    private static let slotBits: UInt64 = 24

    private var heap: [Entry] = []
    private var slots: [Slot] = []
    private var free: [Int] = []
    private var scheduled: UInt64 = 0

    package init() {}

    package var count: Int { heap.count }

    package var nextDeadline: Instant? { heap.first.map { Instant(nanoseconds: $0.deadline) } }

    package mutating func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> LoopTimer {
        let slot = takeSlot()
        slots[slot].action = action
        heap.append(Entry(deadline: deadline.nanoseconds, sequence: scheduled, slot: slot))
        scheduled += 1
        slots[slot].position = heap.count - 1
        siftUp(heap.count - 1)
        return LoopTimer(number: slots[slot].generation << Self.slotBits | UInt64(slot))
    }

    /// False when it has fired or was cancelled before.
    @discardableResult
    package mutating func cancel(_ timer: LoopTimer) -> Bool {
        let slot = Int(timer.number & (1 << Self.slotBits - 1))
        guard slot < slots.count, slots[slot].position >= 0,
            slots[slot].generation == timer.number >> Self.slotBits
        else { return false }
        remove(at: slots[slot].position)
        return true
    }

    /// What the next timer's place in the order of scheduling will be.
    package var nextSequence: UInt64 { scheduled }

    /// Takes the next action that is due at `now`. Call the action after this returned: it may schedule and cancel.
    ///
    /// - Parameter limit: a value of `nextSequence`: timers that were scheduled later wait for the next turn, or an
    ///   action that schedules itself for "now" would hold the loop for ever.
    package mutating func popDue(at now: Instant, scheduledBefore limit: UInt64) -> (() -> Void)? {
        guard let first = heap.first, first.deadline <= now.nanoseconds, first.sequence < limit else { return nil }
        let action = slots[first.slot].action
        remove(at: 0)
        return action
    }

    package mutating func removeAll() {
        while !heap.isEmpty { remove(at: heap.count - 1) }
    }

    // MARK: - Slots

    private mutating func takeSlot() -> Int {
        if let slot = free.popLast() { return slot }
        precondition(slots.count < 1 << Self.slotBits, "16 million timers on one loop")
        slots.append(Slot())
        return slots.count - 1
    }

    private mutating func release(_ slot: Int) {
        slots[slot].generation += 1
        slots[slot].position = -1
        slots[slot].action = nil
        free.append(slot)
    }

    // MARK: - Heap

    private mutating func remove(at position: Int) {
        let removed = heap[position]
        let last = heap.removeLast()
        if position < heap.count {
            place(last, at: position)
            siftUp(position)
            siftDown(slots[last.slot].position)
        }
        release(removed.slot)
    }

    private mutating func place(_ entry: Entry, at position: Int) {
        heap[position] = entry
        slots[entry.slot].position = position
    }

    private mutating func siftUp(_ start: Int) {
        let entry = heap[start]
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard entry.isBefore(heap[parent]) else { break }
            place(heap[parent], at: position)
            position = parent
        }
        place(entry, at: position)
    }

    private mutating func siftDown(_ start: Int) {
        let entry = heap[start]
        var position = start
        while true {
            var child = 2 * position + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].isBefore(heap[child]) { child += 1 }
            guard heap[child].isBefore(entry) else { break }
            place(heap[child], at: position)
            position = child
        }
        place(entry, at: position)
    }
}
