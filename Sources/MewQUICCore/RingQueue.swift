/// A first-in, first-out queue whose both ends cost the same however long it is.
package struct RingQueue<Element> {
    private var storage: [Element?] = []
    private var head = 0
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    package var first: Element? { count == 0 ? nil : storage[head] }

    package mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        storage[(head + count) % storage.count] = element
        count += 1
    }

    package mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        defer {
            storage[head] = nil
            head = (head + 1) % storage.count
            count -= 1
        }
        return storage[head]
    }

    package mutating func removeAll() {
        storage.removeAll()
        head = 0
        count = 0
    }

    private mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(max(8, storage.count * 2))
        for offset in 0..<count { larger.append(storage[(head + offset) % storage.count]) }
        larger.append(contentsOf: repeatElement(nil, count: max(8, storage.count * 2) - count))
        storage = larger
        head = 0
    }
}
