package import MewBase
package import MewLoop
internal import MewQUICCore
package import MewWire
internal import Synchronization

/// Makes the byte stream under a leg. Real sockets in production, pipes in tests.
package protocol RelayConnector: Sendable {
    /// Connects to where `url` points, with TLS when it says so. Bounded in time.
    func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream

    /// Where and how the relay is reached over HTTP/3; nil when that is not to be tried.
    func http3Target(of url: RelayURL) async throws(StreamFailure) -> HTTP3Target?

    /// Where the relay is, in the order to be tried, each address with the port of `url`; none when that is not known.
    func addresses(of url: RelayURL) async -> [SocketAddress]
}

extension RelayConnector {
    package func http3Target(of url: RelayURL) async throws(StreamFailure) -> HTTP3Target? { nil }

    /// Its streams are not of this network: nobody can be asked by UDP.
    package func addresses(of url: RelayURL) async -> [SocketAddress] { [] }
}

/// Connects over TCP, and believes the certificates the system believes unless it is told others.
package final class NetworkRelayConnector: RelayConnector {
    private let dialler: StreamDialler
    private let trust: RelayTrust
    /// Read when the first relay needs it.
    private let systemStore = Mutex<TLSTrust?>(nil)

    package init(on loop: EventLoop, _ trust: RelayTrust) {
        dialler = StreamDialler(on: loop)
        self.trust = trust
    }

    /// - Parameter trust: by whom every relay is believed; nil for the system's store.
    package convenience init(on loop: EventLoop, trust: TLSTrust? = nil) {
        self.init(on: loop, RelayTrust(general: trust))
    }

    package func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        // A name may end with the root's dot; certificates never do.
        let host = url.host.last == "." ? String(url.host.dropLast()) : url.host
        return try await dialler.connect(host: host, port: url.port, tls: url.isSecure ? try authorities(of: url) : nil)
    }

    package func http3Target(of url: RelayURL) async throws(StreamFailure) -> HTTP3Target? {
        let host = url.host.last == "." ? String(url.host.dropLast()) : url.host
        let addresses = try await dialler.addresses(of: host, port: url.port)
        return HTTP3Target(addresses: addresses, demand: try demand(of: url, host))
    }

    /// A key that the URL pins needs no certificate beside it.
    private func demand(of url: RelayURL, _ host: String) throws(StreamFailure) -> ServerDemand {
        if let key = url.key { return .key(key) }
        return url.isSecure ? .host(host, try authorities(of: url).store) : .nothing
    }

    package func addresses(of url: RelayURL) async -> [SocketAddress] {
        do throws(HostLookup.Failure) {
            return try await dialler.names.addresses(of: url.host, port: url.port)
        } catch {
            // The leg to the relay looks the same name up, and says what is wrong with it.
            return []
        }
    }

    private func authorities(of url: RelayURL) throws(StreamFailure) -> TLSTrust {
        do throws(TLSFailure) {
            if let belief = trust.own(of: url) ?? trust.general { return try belief.get() }
            return try systemTrust()
        } catch {
            throw .tls(error)
        }
    }

    private func systemTrust() throws(TLSFailure) -> TLSTrust {
        try systemStore.withLock { (kept) throws(TLSFailure) in
            if let kept { return kept }
            let made = try TLSTrust()
            kept = made
            return made
        }
    }
}
