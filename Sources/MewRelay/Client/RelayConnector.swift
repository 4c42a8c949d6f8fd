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
    private let particular: [(relay: RelayURL, trust: TLSTrust)]

    /// - Parameters:
    ///   - trust: whom to believe; nil for the system's store, which is read when the first relay needs it.
    ///   - particular: relays that are believed by somebody else.
    package init(
        on loop: EventLoop, trust: TLSTrust? = nil, particular: [(relay: RelayURL, trust: TLSTrust)] = []
    ) {
        dialler = StreamDialler(on: loop)
        self.trust = Mutex(trust)
        self.particular = particular
    }

    package func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        // A name may end with the root's dot; certificates never do.
        let host = url.host.last == "." ? String(url.host.dropLast()) : url.host
        return try await dialler.connect(host: host, port: url.port, tls: url.isSecure ? try trust(of: url) : nil)
    }

    private func trust(of url: RelayURL) throws(StreamFailure) -> TLSTrust {
        if let own = particular.first(where: { $0.relay.isSamePlace(as: url) }) { return own.trust }
        return try systemTrust()
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
