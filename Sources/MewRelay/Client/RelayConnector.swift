internal import MewBase
package import MewLoop
package import MewWire
internal import Synchronization

/// Makes the byte stream under a leg. Real sockets in production, pipes in tests.
package protocol RelayConnector: Sendable {
    /// Connects to where `url` points, with TLS when it says so. Bounded in time.
    func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream
}

/// Connects over TCP, and believes the certificates the system believes unless it is told others.
package final class NetworkRelayConnector: RelayConnector {
    private let dialler: StreamDialler
    private let trust: Mutex<TLSTrust?>

    /// - Parameter trust: whom to believe; nil for the system's store, which is read when the first relay needs it.
    package init(on loop: EventLoop, trust: TLSTrust? = nil) {
        dialler = StreamDialler(on: loop)
        self.trust = Mutex(trust)
    }

    package func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        // A name may end with the root's dot; certificates never do.
        let host = url.host.last == "." ? String(url.host.dropLast()) : url.host
        return try await dialler.connect(host: host, port: url.port, tls: url.isSecure ? try systemTrust() : nil)
    }

    private func systemTrust() throws(StreamFailure) -> TLSTrust {
        do throws(TLSFailure) {
            return try trust.withLock { (kept) throws(TLSFailure) in
                if let kept { return kept }
                let made = try TLSTrust()
                kept = made
                return made
            }
        } catch {
            throw .tls(error)
        }
    }
}
