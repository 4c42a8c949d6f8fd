internal import MewBase
internal import MewLoop
internal import MewQUICCore

// The end of a turn: everything that was touched is flushed once, established connections first.

extension Endpoint {
    func markDirty(_ slot: ConnectionSlot) {
        guard let entry = table[slot], !entry.isDirty else { return }
        entry.isDirty = true
        if entry.isUnauthorized { dirtyUnauthorized.append(slot) } else { dirtyEstablished.append(slot) }
        scheduleTurn()
    }

    func scheduleTurn() {
        guard !isTurnScheduled else { return }
        isTurnScheduled = true
        loop.atEndOfTurn { [self] in assumeIsolated { $0.endTurn() } }
    }

    func endTurn() {
        isTurnScheduled = false
        for slot in Self.takeAll(&dirtyEstablished) { flush(slot) }
        acceptInitials()
        for slot in Self.takeAll(&dirtyUnauthorized) { flush(slot) }
        outlets.flush()
        armTimer()
    }

    /// Empties the list before anything is flushed. What a flush dirties again schedules another end of this turn.
    private static func takeAll(_ list: inout [ConnectionSlot]) -> [ConnectionSlot] {
        defer { list = [] }
        return list
    }

    private func flush(_ slot: ConnectionSlot) {
        guard let entry = table[slot] else { return }
        entry.isDirty = false
        let deadline = entry.connection.assumeIsolated { $0.flush() }
        // The flush may have ended the connection and freed its slot.
        if table[slot] != nil { deadlines.set(slot, deadline: deadline) }
    }

    // MARK: - Timers

    private func armTimer() {
        let next = min(deadlines.earliest ?? .distantFuture, strangerDeadlines.earliest ?? .distantFuture)
        if let timer {
            // One that fires early costs a look; arming it anew for every packet would cost more.
            if timer.deadline <= next { return }
            loop.cancel(timer.id)
        }
        timer = nil
        guard next < .distantFuture else { return }
        let id = loop.schedule(at: next) { [self] in assumeIsolated { $0.timerFired() } }
        timer = (id, next)
    }

    private func timerFired() {
        timer = nil
        let now = loop.now
        while let slot = deadlines.popDue(now: now) {
            table[slot]?.connection.assumeIsolated { $0.expire() }
        }
        while let slot = strangerDeadlines.popDue(now: now) { strangerTimedOut(slot) }
        scheduleTurn()
    }
}
