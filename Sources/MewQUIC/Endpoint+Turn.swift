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
        flush(&dirtyEstablished)
        acceptInitials()
        flush(&dirtyUnauthorized)
        outlets.flush()
        armTimer()
    }

    /// What a flush dirties again waits for the next turn.
    private func flush(_ list: inout [ConnectionSlot]) {
        let slots = list
        list.removeAll(keepingCapacity: true)
        for slot in slots { flush(slot) }
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
