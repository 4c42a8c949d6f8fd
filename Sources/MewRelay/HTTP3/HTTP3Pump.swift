internal import MewHTTP3
internal import MewQUIC
internal import MewQUICCore

/// Carries bytes between the streams of a QUIC connection and its HTTP/3 core. Either end of a connection to a relay has one.
///
/// Touched on the loop's thread only. Whoever reads takes the core's events afterwards; whoever writes calls `flush`.
final class HTTP3Pump {
    let core: HTTP3Core
    let connection: DirectConnection
    /// Streams whose end the core has been told.
    private var ended: Set<Int64> = []
    /// It is being closed because somebody broke HTTP/3.
    private(set) var isBroken = false

    init(_ role: HTTP3Core.Role, over connection: DirectConnection) throws(HTTP3Failure) {
        self.connection = connection
        core = try HTTP3Core(role)
    }

    /// Opens our control and QPACK streams and sends our settings. False when the peer allows fewer than three streams, which
    /// it must (RFC 9114 §6.2).
    func start() -> Bool {
        guard let control = connection.openStream(.unidirectional),
            let encoder = connection.openStream(.unidirectional), let decoder = connection.openStream(.unidirectional)
        else { return false }
        return perform { () throws(HTTP3Failure) in
            try core.bind(control: control, encoder: encoder, decoder: decoder)
        }
    }

    /// Gives the core all that a stream has brought.
    func read(_ stream: Int64) {
        perform { () throws(HTTP3Failure) in try readAll(stream) }
    }

    private func readAll(_ stream: Int64) throws(HTTP3Failure) {
        while true {
            switch connection.read(stream) {
            case .bytes(let bytes):
                try core.receive(bytes, on: stream, isLast: false)
                continue
            case .ended: try ended(stream)
            case .reset(let code):
                if ended.insert(stream).inserted { try core.receivedReset(of: stream, code: code) }
            case .nothing: break
            }
            break
        }
        guard connection.isOver(stream) else { return }
        try core.closed(stream)
        ended.remove(stream)
        connection.release(stream)
    }

    private func ended(_ stream: Int64) throws(HTTP3Failure) {
        // Of one that only we write to nothing ever comes.
        let isOurs = stream & 2 != 0 && (stream & 1 == 0) == (core.role == .client)
        guard !isOurs, ended.insert(stream).inserted else { return }
        try core.receive([], on: stream, isLast: true)
    }

    /// A stream that took too little takes more again.
    func unblock(_ stream: Int64) {
        perform { () throws(HTTP3Failure) in try core.unblock(stream) }
        flush()
    }

    /// Hands QUIC all that it takes of what the core has to say.
    func flush() {
        guard connection.isOpen else { return }
        perform { () throws(HTTP3Failure) in try core.write(write) }
    }

    private func write(_ output: HTTP3Core.Output) -> HTTP3Core.Taken {
        if !output.bytes.isEmpty {
            guard let count = connection.write(output.bytes, to: output.stream) else { return .gone }
            if count < output.bytes.count { return .bytes(count) }
        }
        if output.isLast { connection.finish(output.stream) }
        return .bytes(output.bytes.count)
    }

    /// Gives a stream up in both directions.
    func abandon(_ stream: Int64, code: UInt64) {
        core.abandon(stream)
        connection.reset(stream, code: code)
    }

    /// Whatever breaks HTTP/3 ends the connection.
    @discardableResult
    func perform(_ body: () throws(HTTP3Failure) -> Void) -> Bool {
        do throws(HTTP3Failure) {
            try body()
            return true
        } catch {
            isBroken = true
            connection.close(code: error.code, reason: error.description)
            return false
        }
    }
}
