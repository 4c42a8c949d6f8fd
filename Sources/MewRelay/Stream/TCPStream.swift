package import MewBase
package import MewLoop

/// A TCP connection, plain or inside TLS. One reader at a time; writers may be many, and what each writes stays
/// together.
package protocol TCPStream: Sendable {
    /// The next bytes, at most `maxBytes`; nil at the end.
    func read(maxBytes: Int) async throws(StreamFailure) -> [UInt8]?

    /// Returns when the kernel has taken all of it.
    func write(_ bytes: [UInt8]) async throws(StreamFailure)

    /// Reads once into `input`, waiting until there is something; false at the end. Others of the loop have their turn between two
    /// reads, also while there is something to read.
    func read(into input: any StreamInput) async throws(StreamFailure) -> Bool

    /// Writes what `output` has, as the kernel takes it, and returns when it has no more. No other writer beside it.
    func write(from output: any StreamOutput) async throws(StreamFailure)

    /// Ends both directions at once; who waits gets `closed`. Idempotent.
    func close() async

    /// Whom it was connected to; nil when that says nothing of the network.
    var remote: SocketAddress? { get }

    /// Keying material of the TLS connection (RFC 8446 §7.5); nil on a plain stream.
    func exportKeyingMaterial(label: String, context: [UInt8], byteCount: Int) async -> [UInt8]?
}

extension TCPStream {
    package var remote: SocketAddress? { nil }
}

/// Why a stream could not be had, or gives no more.
package enum StreamFailure: Error, Hashable, Sendable, CustomStringConvertible {
    case closed
    case cancelled
    /// Nothing came about within the time the caller gave.
    case timedOut
    /// No addresses could be had for the name.
    case lookup(HostLookup.Failure)
    case system(SystemError)
    case tls(TLSFailure)

    init(_ error: StreamError) {
        self =
            switch error {
            case .closed, .lineTooLong: .closed
            case .cancelled: .cancelled
            case .system(let error): .system(error)
            }
    }

    package var description: String {
        switch self {
        case .closed: "the connection was closed"
        case .cancelled: "cancelled"
        case .timedOut: "no answer in time"
        case .lookup(let failure): failure.description
        case .system(let error): error.description
        case .tls(let failure): failure.description
        }
    }
}

/// A stream without TLS.
package struct PlainStream: TCPStream {
    private let socket: StreamSocket
    package let remote: SocketAddress?

    package init(_ socket: StreamSocket, to remote: SocketAddress? = nil) {
        (self.socket, self.remote) = (socket, remote)
    }

    package func read(maxBytes: Int) async throws(StreamFailure) -> [UInt8]? {
        do throws(StreamError) {
            return try await socket.read(maxBytes: maxBytes)
        } catch {
            throw StreamFailure(error)
        }
    }

    package func write(_ bytes: [UInt8]) async throws(StreamFailure) {
        do throws(StreamError) {
            try await socket.write(bytes)
        } catch {
            throw StreamFailure(error)
        }
    }

    package func read(into input: any StreamInput) async throws(StreamFailure) -> Bool {
        do throws(StreamError) {
            return try await socket.read(into: input)
        } catch {
            throw StreamFailure(error)
        }
    }

    package func write(from output: any StreamOutput) async throws(StreamFailure) {
        do throws(StreamError) {
            try await socket.write(from: output)
        } catch {
            throw StreamFailure(error)
        }
    }

    package func close() async { await socket.close() }

    package func exportKeyingMaterial(label: String, context: [UInt8], byteCount: Int) async -> [UInt8]? { nil }
}
