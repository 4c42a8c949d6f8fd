package import MewBase

/// The next deadline of many connections: changing one costs the logarithm of their number, asking costs nothing.
package struct DeadlineHeap {
    private struct Entry {
        var deadline: Instant
        let slot: Int
    }

    private var heap: [Entry] = []
    /// Where each slot stands in the heap; -1 when it does not.
    private var positions: [Int] = []

    package init() {}

    package var earliest: Instant? { heap.first?.deadline }

    package var count: Int { heap.count }

    /// `distantFuture` takes the slot out.
    package mutating func set(_ slot: ConnectionSlot, deadline: Instant) {
        while positions.count <= slot.index { positions.append(-1) }
        let position = positions[slot.index]
        if deadline == .distantFuture {
            if position >= 0 { remove(at: position) }
        } else if position < 0 {
            heap.append(Entry(deadline: deadline, slot: slot.index))
            positions[slot.index] = heap.count - 1
            siftUp(heap.count - 1)
        } else {
            let old = heap[position].deadline
            heap[position].deadline = deadline
            if deadline < old { siftUp(position) } else if deadline > old { siftDown(position) }
        }
    }

    /// Takes out a slot whose deadline has come; equal deadlines leave in the order of their slots.
    package mutating func popDue(now: Instant) -> ConnectionSlot? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        remove(at: 0)
        return ConnectionSlot(index: first.slot)
    }

    private mutating func remove(at position: Int) {
        positions[heap[position].slot] = -1
        let last = heap.removeLast()
        guard position < heap.count else { return }
        heap[position] = last
        positions[last.slot] = position
        siftUp(position)
        siftDown(positions[last.slot])
    }

    private func isBefore(_ left: Entry, _ right: Entry) -> Bool {
        (left.deadline, left.slot) < (right.deadline, right.slot)
    }

    private mutating func siftUp(_ start: Int) {
        var position = start
        while position > 0, isBefore(heap[position], heap[(position - 1) / 2]) {
            swap(position, (position - 1) / 2)
            position = (position - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var position = start
        while true {
            let left = 2 * position + 1
            guard left < heap.count else { return }
            let right = left + 1
            let child = right < heap.count && isBefore(heap[right], heap[left]) ? right : left
            guard isBefore(heap[child], heap[position]) else { return }
            swap(position, child)
            position = child
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        positions[heap[left].slot] = left
        positions[heap[right].slot] = right
    }
}
