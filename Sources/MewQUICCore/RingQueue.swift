/// A first-in, first-out queue whose both ends cost the same however long it is.
///
/// Inlinable, because other modules keep packets in it: a call without the type known costs more than the rest of a packet.
package struct RingQueue<Element> {
    @usableFromInline var storage: [Element?] = []
    @usableFromInline var head = 0
    @usableFromInline var length = 0

    @inlinable
    package init() {}

    @inlinable
    package var count: Int { length }

    @inlinable
    package var isEmpty: Bool { length == 0 }

    @inlinable
    package var first: Element? { length == 0 ? nil : storage[head] }

    @inlinable
    package mutating func append(_ element: Element) {
        if length == storage.count { grow() }
        storage[(head + length) % storage.count] = element
        length += 1
    }

    @inlinable
    package mutating func popFirst() -> Element? {
        guard length > 0 else { return nil }
        defer {
            storage[head] = nil
            head = (head + 1) % storage.count
            length -= 1
        }
        return storage[head]
    }

    @inlinable
    package mutating func removeAll() {
        storage.removeAll()
        head = 0
        length = 0
    }

    @inlinable
    mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(max(8, storage.count * 2))
        for offset in 0..<length { larger.append(storage[(head + offset) % storage.count]) }
        larger.append(contentsOf: repeatElement(nil, count: max(8, storage.count * 2) - length))
        storage = larger
        head = 0
    }
}
