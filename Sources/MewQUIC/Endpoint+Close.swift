internal import MewBase
internal import MewLoop
internal import MewQUICCore

// The end of an endpoint.

extension Endpoint {
    /// Takes nothing new, tells every peer `code` and `reason`, and closes the sockets. What was not delivered yet is lost.
    /// A second call returns at once.
    ///
    /// - Parameter linger: how long to stay and repeat the close to peers that missed it and still send; no longer than
    ///   needed when there was no connection.
    package func close(code: UInt64, reason: String, linger: Duration = .milliseconds(300)) async {
        guard !isClosing else { return }
        isClosing = true
        let hadConnections = table.count > 0
        closeConnections(code: code, reason: reason)
        if hadConnections { await pause(linger) }
        if let timer { loop.cancel(timer.id) }
        timer = nil
        outlets.flush()
        outlets.close()
        onStun = nil
    }

    private func closeConnections(code: UInt64, reason: String) {
        for connection in table.all { connection.assumeIsolated { $0.close(code: code, reason: reason) } }
        incoming.removeAll()
        waiters.resumeAll()
        // Now, not at the end of the turn: with no time to linger the sockets are closed before that.
        endTurn()
    }

    /// Suspends for `time`; a cancelled task goes on at once.
    private func pause(_ time: Duration) async {
        let deadline = loop.now.advanced(by: time)
        let timer = loop.schedule(at: deadline) { [self] in
            assumeIsolated { $0.wakeSleepers() }
        }
        await wait(in: sleepers, unless: { loop.now >= deadline })
        loop.cancel(timer)
    }

    private func wakeSleepers() {
        waiters.resumeAll(sleepers)
    }
}
