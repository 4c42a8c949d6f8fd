internal import MewBase
package import MewIdentity
package import MewLoop
package import MewQUICCore

/// One connection to an authenticated peer.
///
/// Its `ConnectionDriver` does everything that happens in the turns of the loop; this actor lends it to tasks: it suspends
/// them until there is a stream to open, a stream of the peer, an end. Pinned to the endpoint's loop, so a call from a task
/// of that loop costs no thread hop. It stays usable after its end: every call then says how it ended.
package actor Connection {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    package nonisolated let loop: any Loop
    package nonisolated let role: ConnectionCore.Role
    let driver: ConnectionDriver

    init(_ driver: LoopBound<ConnectionDriver>) {
        loop = driver.value.loop
        unownedExecutor = loop.asUnownedSerialExecutor()
        role = driver.value.role
        self.driver = driver.value
    }

    // MARK: - What the peer proved

    /// Who the peer is. Set on every connection that `connect` or `accept` returned.
    package var peer: NodeID {
        get throws(QUICError) {
            guard let peer = driver.peer else { throw .refused("the handshake is not complete") }
            return peer
        }
    }

    /// The application protocol both sides agreed on.
    package var applicationProtocol: String {
        get throws(QUICError) {
            guard let name = driver.applicationProtocol else { throw .refused("the handshake is not complete") }
            return name
        }
    }

    /// Keying material that only the two ends can compute (RFC 8446 §7.5), with an empty context. Listener: before
    /// `authorize`.
    package func export(label: String, byteCount: Int) throws(QUICError) -> [UInt8] {
        guard let material = try driver.requireCore().export(label: label, byteCount: byteCount) else {
            throw .refused("no keying material before the handshake is complete, or after the peer was authorized")
        }
        return material
    }

    /// Listener: the peer is known; it may use all its streams and its whole window. Idempotent.
    package func authorize() {
        driver.authorize()
    }

    /// Listener: the peer's key is known, so that it is no stranger any more: it has no time limit and takes no stranger's
    /// place. It stays restricted. Idempotent.
    package func recognize() {
        driver.endpoint?.authorized(driver)
    }

    /// Listener: the peer has said who it is and waits for a decision that may take longer than a stranger has. It stays
    /// restricted. Idempotent.
    package func keepWaiting() {
        driver.endpoint?.waits(driver)
    }

    // MARK: - The end

    /// False once it has ended; it may still be closing before that.
    package var isOpen: Bool { driver.closure == nil }

    /// Tells the peer `code` and the sentence `reason`. What was not delivered yet is lost. The first call wins.
    package func close(code: UInt64, reason: String) {
        driver.close(code: code, reason: reason)
    }

    /// Suspends until the connection is gone. Throws `cancelled` when the task is cancelled first.
    package func closed() async throws(QUICError) -> QUICClosure {
        while true {
            if let closure = driver.closure { return closure }
            if Task.isCancelled { throw .cancelled }
            await driver.waiters.wait(unless: { driver.closure != nil })
        }
    }

    enum HandshakeOutcome: Sendable {
        case established
        case failed(QUICClosure, answeredBy: Route?)
        case cancelled
    }

    /// Dialler: suspends until the handshake is over.
    func handshake() async -> HandshakeOutcome {
        while true {
            if Task.isCancelled { return .cancelled }
            if let closure = driver.closure { return .failed(closure, answeredBy: driver.answeredBy) }
            if driver.isEstablished { return .established }
            await driver.waiters.wait(unless: { driver.isEstablished || driver.closure != nil })
        }
    }

    // MARK: - Status

    /// What is known about the connection right now; after its end, what was known last.
    package var status: ConnectionStatus {
        get throws(QUICError) {
            guard let status = driver.status else { throw .closed(driver.endOrUnknown) }
            return status
        }
    }
}

/// A snapshot of a connection.
package struct ConnectionStatus: Sendable {
    /// How packets reach the peer; nil when the way is gone.
    package let route: Route?
    package let statistics: ConnectionStatistics
    package let isAuthorized: Bool
}
