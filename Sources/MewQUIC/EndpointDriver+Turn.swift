internal import MewBase
internal import MewLoop
internal import MewQUICCore

// The end of a turn: everything that was touched is flushed once, established connections first.

extension EndpointDriver {
    /// Once a turn for each connection: `ConnectionDriver.isDirty` says when.
    func markDirty(_ connection: ConnectionDriver) {
        connection.isDirty = true
        if connection.isUnauthorized {
            dirtyUnauthorized.append(connection)
        } else {
            dirtyEstablished.append(connection)
        }
        scheduleTurn()
    }

    func scheduleTurn() {
        guard !isTurnScheduled else { return }
        isTurnScheduled = true
        loop.atEndOfTurn { [self] in endTurn() }
    }

    func endTurn() {
        isTurnScheduled = false
        let now = loop.now
        for connection in Self.takeAll(&dirtyEstablished) { flush(connection, now: now) }
        acceptInitials()
        for connection in Self.takeAll(&dirtyUnauthorized) { flush(connection, now: now) }
        outlets.flush()
        armTimer()
    }

    /// Empties the list before anything is flushed. What a flush dirties again schedules another end of this turn.
    private static func takeAll(_ list: inout [ConnectionDriver]) -> [ConnectionDriver] {
        defer { list = [] }
        return list
    }

    /// The connection is flushed when a carrier tells that it has room, and by its own timers.
    func waitForRoom(_ connection: ConnectionDriver) {
        guard !connection.isWaitingForRoom else { return }
        connection.isWaitingForRoom = true
        waitingForRoom.append(connection)
    }

    func carrierHasRoom() {
        for connection in Self.takeAll(&waitingForRoom) {
            connection.isWaitingForRoom = false
            connection.touched()
        }
    }

    private func flush(_ connection: ConnectionDriver, now: Instant) {
        let deadline = connection.flush(now: now)
        // The flush may have ended the connection and freed its slot.
        if table[connection.slot] === connection { deadlines.set(connection.slot, deadline: deadline) }
    }

    // MARK: - Timers

    private func armTimer() {
        let next = min(
            deadlines.earliest ?? .distantFuture, strangerDeadlines.earliest ?? .distantFuture,
            held.deadline ?? .distantFuture)
        if let timer {
            // One that fires early costs a look; arming it anew for every packet would cost more.
            if timer.deadline <= next { return }
            loop.cancel(timer.id)
        }
        timer = nil
        guard next < .distantFuture else { return }
        let id = loop.schedule(at: next) { [self] in timerFired() }
        timer = (id, next)
    }

    private func timerFired() {
        timer = nil
        let now = loop.now
        while let slot = deadlines.popDue(now: now) { table[slot]?.expire(now: now) }
        while let slot = strangerDeadlines.popDue(now: now) { table[slot].map(strangerTimedOut) }
        initials += held.takeDue(now: now)
        scheduleTurn()
    }
}
