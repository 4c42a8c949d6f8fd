package import MewBase
internal import MewLoop
package import MewQUICCore

/// Takes the connections that an endpoint accepts. `Sendable` as far as the compiler is concerned: it is called on the
/// endpoint's loop only.
package protocol DirectAcceptor: AnyObject, Sendable {
    /// The handshake is complete. Set the connection's handler now, or it is dropped in time as a stranger.
    func accept(_ connection: DirectConnection)
}

/// What happens on a connection whose owner works within the turns of the loop. Nothing is repeated until the owner has acted on
/// it: read a readable stream to its end for now, or it is not told of again.
package protocol DirectHandler: AnyObject {
    func established()
    /// There are bytes, an end or a reset; or the stream is over in both directions. Also the first word of a stream that
    /// the peer opened.
    func readable(_ stream: Int64)
    /// A stream that took less than it was given takes more.
    func writable(_ stream: Int64)
    /// A datagram, within the reading of a packet: on this connection the handler may queue, and nothing else. The bytes are valid
    /// within the call.
    func received(datagram: UnsafeRawBufferPointer)
    /// The end; nothing comes after it.
    func ended(_ closure: QUICClosure)
}

/// A connection for an owner that lives on the endpoint's loop and waits for nothing: no task, no actor, no copy that is not
/// needed. Touched on the loop's thread only.
package final class DirectConnection {
    private let driver: ConnectionDriver

    init(_ driver: ConnectionDriver) {
        self.driver = driver
    }

    /// A way to pass one between tasks of its loop.
    package struct Handle: Sendable {
        private let driver: LoopBound<ConnectionDriver>

        init(_ driver: LoopBound<ConnectionDriver>) {
            self.driver = driver
        }

        /// On the loop only.
        package var connection: DirectConnection {
            driver.value.loop.checkIsolated()
            return DirectConnection(driver.value)
        }
    }

    /// Set once; held until the end.
    package func attach(_ handler: any DirectHandler) {
        driver.handler = handler
        driver.core?.onDatagram = { [unowned handler] in handler.received(datagram: $0) }
        // What came before, while nobody listened.
        while let record = driver.incomingStreams.popFirst() { handler.readable(record.stream.id) }
        while let datagram = driver.takeDatagram() {
            datagram.withUnsafeBytes { handler.received(datagram: $0) }
        }
    }

    /// Asks `source` for datagrams whenever one can be sent; say `touched` when it has some.
    package func takeDatagrams(from source: any DatagramSource) {
        driver.core?.takeDatagrams(from: source)
    }

    package func touched() { driver.touched() }

    // MARK: - What is known

    package var isOpen: Bool { driver.core.map { !$0.isClosing } ?? false }

    /// The peer's address; nil through a carrier.
    package var remote: SocketAddress? {
        guard let core = driver.core, case .direct(let address)? = driver.routes.outlets(of: core.path).first?.route
        else { return nil }
        return address
    }

    package var maxDatagramBytes: Int { driver.core?.maxDatagramBytes ?? 0 }

    package var statistics: ConnectionStatistics? { driver.status?.statistics }

    /// Since when something is under way without any acknowledgement; nil while nothing is.
    package var unansweredSince: Instant? { driver.core?.unansweredSince }

    /// After so long a loss is suspected (RFC 9002 §6.2.1).
    package var probeTimeout: Duration { driver.core?.probeTimeout ?? .zero }

    /// Keying material (RFC 8446 §7.5) with an empty context; nil after `authorize`.
    package func export(label: String, byteCount: Int) -> [UInt8]? {
        driver.core?.export(label: label, byteCount: byteCount)
    }

    /// Listener: it is no stranger any more, and has its whole window. Gives back what TLS holds.
    package func authorize() { driver.authorize() }

    package func close(code: UInt64, reason: String) { driver.close(code: code, reason: reason) }

    // MARK: - Streams

    /// Nil when the peer allows no more, or the connection is over.
    package func openStream(_ direction: ConnectionCore.Direction) -> Int64? {
        (try? driver.openStream(direction))?.stream.id
    }

    package enum Read {
        case bytes([UInt8])
        case ended
        case reset(code: UInt64)
        /// Nothing more for now.
        case nothing
    }

    package func read(_ stream: Int64) -> Read {
        guard let record = driver.streams[stream] else { return .nothing }
        if let bytes = driver.core?.read(record.stream) {
            driver.touched()
            return .bytes(bytes)
        }
        return switch record.stream.receiving {
        case .ended: .ended
        case .reset(let code): .reset(code: code)
        case .open, .stopped: .nothing
        }
    }

    /// How many of the bytes were queued, all or what there was room for; nil when the stream takes nothing any more.
    package func write(_ bytes: UnsafeRawBufferPointer, to stream: Int64) -> Int? {
        guard let core = driver.core, let record = driver.streams[stream],
            let count = try? core.write(bytes, to: record.stream)
        else { return nil }
        if count > 0 { driver.touched() }
        return count
    }

    package func finish(_ stream: Int64) {
        driver.streams[stream].map(driver.finish)
    }

    /// Gives up both directions.
    package func reset(_ stream: Int64, code: UInt64) {
        guard let record = driver.streams[stream] else { return }
        driver.stop(record, code: code)
        driver.core?.reset(record.stream, code: code)
        driver.touched()
    }

    /// Both directions are over, and all is read.
    package func isOver(_ stream: Int64) -> Bool {
        driver.streams[stream].map { $0.stream.isClosed && $0.stream.unreadBytes == 0 } ?? true
    }

    /// Forgets a stream that is over.
    package func release(_ stream: Int64) {
        driver.streams[stream].map(driver.abandon)
    }
}
