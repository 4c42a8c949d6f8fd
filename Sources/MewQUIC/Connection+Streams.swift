package import MewQUICCore

// Streams and datagrams as tasks see them: calls that suspend.

extension Connection {
    /// Opens a stream; suspends while the peer allows no more.
    package func openStream(
        _ direction: ConnectionCore.Direction = .bidirectional
    ) async throws(QUICError) -> QUICStream {
        while true {
            if let record = try driver.openStream(direction) { return stream(record) }
            if Task.isCancelled { throw .cancelled }
            await driver.waiters.wait(
                in: driver.openers, unless: { driver.core?.mayOpenStream(direction) ?? true })
        }
    }

    /// The next stream that the peer opened; nil once the connection is gone or the task is cancelled.
    package func acceptStream() async -> QUICStream? {
        while true {
            if let record = driver.incomingStreams.popFirst() { return stream(record) }
            if driver.closure != nil || Task.isCancelled { return nil }
            await driver.waiters.wait(
                in: driver.acceptors, unless: { !driver.incomingStreams.isEmpty || driver.closure != nil })
        }
    }

    private func stream(_ record: StreamRecord) -> QUICStream {
        QUICStream(LoopBound(record), of: self, by: LoopBound(driver))
    }

    // MARK: - Datagrams

    /// Queues a datagram (RFC 9221). It may be lost, and the oldest gives way when too many wait.
    package func sendDatagram(_ bytes: [UInt8]) throws(QUICError) {
        try driver.requireCore().sendDatagram(bytes)
        driver.touched()
    }

    /// The next datagram of the peer.
    package func receiveDatagram() async throws(QUICError) -> [UInt8] {
        while true {
            if let datagram = driver.takeDatagram() { return datagram }
            if let closure = driver.closure { throw .closed(closure) }
            if Task.isCancelled { throw .cancelled }
            await driver.waiters.wait(
                in: driver.datagramReaders, unless: { driver.core?.hasDatagram ?? true })
        }
    }

    /// The largest datagram that the present path takes; zero when the peer accepts none.
    package var maxDatagramBytes: Int { driver.core?.maxDatagramBytes ?? 0 }
}
