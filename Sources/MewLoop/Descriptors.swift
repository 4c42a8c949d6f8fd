internal import CSys

/// What a descriptor is ready for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: UInt32(CSYS_READABLE))
    package static let writable = Readiness(rawValue: UInt32(CSYS_WRITABLE))
    /// Reported unasked: an error is pending, or an error queue has something.
    package static let failed = Readiness(rawValue: UInt32(CSYS_FAILED))
    /// Reported unasked: the other end is gone.
    package static let hungUp = Readiness(rawValue: UInt32(CSYS_HUNG_UP))
}

/// One watched descriptor of one loop.
package struct DescriptorWatch: Hashable, Sendable {
    let token: UInt64
    let descriptor: Int32
}

/// Which handler belongs to an epoll token. A token holds a slot (32 bits) and the count of its uses (32 bits), so that
/// an event which was fetched before its descriptor was closed finds nothing, even if the slot has a new owner.
struct DescriptorTable {
    private struct Slot {
        var generation: UInt32 = 0
        var descriptor: Int32 = -1
        var handler: ((Readiness) -> Void)?
    }

    /// Slots this high are never used.
    static let wakeToken = UInt64.max
    static let timerToken = UInt64.max - 1

    private var slots: [Slot] = []
    private var free: [Int] = []

    func handler(for token: UInt64) -> ((Readiness) -> Void)? {
        let slot = Int(token & 0xffff_ffff)
        guard slot < slots.count, slots[slot].generation == UInt32(token >> 32) else { return nil }
        return slots[slot].handler
    }

    mutating func insert(_ descriptor: Int32, _ handler: @escaping (Readiness) -> Void) -> DescriptorWatch {
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(Slot()) }
        slots[slot].descriptor = descriptor
        slots[slot].handler = handler
        return DescriptorWatch(token: UInt64(slots[slot].generation) << 32 | UInt64(slot), descriptor: descriptor)
    }

    /// False when it was removed before.
    mutating func remove(_ watch: DescriptorWatch) -> Bool {
        guard handler(for: watch.token) != nil else { return false }
        let slot = Int(watch.token & 0xffff_ffff)
        slots[slot] = Slot(generation: slots[slot].generation &+ 1)
        free.append(slot)
        return true
    }

    mutating func removeAll(_ forget: (Int32) -> Void) {
        for slot in slots.indices where slots[slot].handler != nil {
            forget(slots[slot].descriptor)
            slots[slot] = Slot(generation: slots[slot].generation &+ 1)
            free.append(slot)
        }
    }
}

extension EventLoop {
    /// Calls `handler` in every turn in which `descriptor` is ready for what was asked (level-triggered), or failed, or
    /// hung up. The handler is held until `unwatch`; the descriptor stays the caller's and must outlive the watch. On
    /// the loop's thread only.
    package func watch(
        _ descriptor: Int32, for interest: Readiness, _ handler: @escaping (Readiness) -> Void
    ) throws(SystemError) -> DescriptorWatch {
        checkIsolated()
        let watch = descriptors.insert(descriptor, handler)
        let error = csys_poll_add(poll, descriptor, interest.rawValue, watch.token)
        if error != 0 { _ = descriptors.remove(watch) }
        try check(error, "watching a descriptor")
        return watch
    }

    /// Changes what the watch waits for; an empty set leaves failures and hang-ups. On the loop's thread only.
    package func change(_ watch: DescriptorWatch, to interest: Readiness) {
        checkIsolated()
        guard descriptors.handler(for: watch.token) != nil else { return }
        let error = csys_poll_change(poll, watch.descriptor, interest.rawValue, watch.token)
        precondition(error == 0, "a watched descriptor was closed before it was unwatched: error \(error)")
    }

    /// Idempotent. The handler is not called again, not even for events of the present turn. On the loop's thread only.
    package func unwatch(_ watch: DescriptorWatch) {
        checkIsolated()
        if descriptors.remove(watch) { csys_poll_remove(poll, watch.descriptor) }
    }
}
