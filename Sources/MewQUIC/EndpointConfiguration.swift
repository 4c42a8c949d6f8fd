package import MewBase
package import MewIdentity
package import MewLoop
package import MewQUICCore

/// What an endpoint is to be.
package struct EndpointConfiguration: Sendable {
    /// The key that names this node.
    package var secret: SecretKey

    /// Where to bind: one wildcard address per family, usually with the same port.
    package var addresses: [SocketAddress]

    /// Application protocols to accept, best first; empty for an endpoint that only dials.
    package var acceptedProtocols: [String]

    /// Application protocols whose speakers know path messages (ARCHITECTURE.md); others are sent none.
    package var pathMessageProtocols: Set<String> = []

    package var authentication = EndpointAuthentication.nodeKeys
    package var transport = TransportConfiguration()
    package var admission = AdmissionLimits()
    package var diagnostics: any DiagnosticSink = NoDiagnostics()

    package init(secret: SecretKey, addresses: [SocketAddress], acceptedProtocols: [String] = []) {
        self.secret = secret
        self.addresses = addresses
        self.acceptedProtocols = acceptedProtocols
    }
}

/// Why an endpoint could not start.
package enum BindFailure: Error, Sendable {
    case socket(SocketError)
    /// The TLS library refused our own key.
    case identity(String)
}

extension EndpointConfiguration {
    /// For all connections, in place of CUBIC.
    package mutating func useBBR() { transport.congestionControl = .bbr }
}

/// Why a dial failed; each candidate is named with what happened there.
package enum DialFailure: Error, Hashable, Sendable {
    package struct Attempt: Hashable, Sendable {
        package let route: Route
        /// Half a sentence: `no answer in 10 s`, `connection refused`.
        package let outcome: String

        package init(route: Route, outcome: String) {
            self.route = route
            self.outcome = outcome
        }

        package init(address: SocketAddress, outcome: String) {
            self.init(route: .direct(address), outcome: outcome)
        }
    }

    /// No way was given, or none that we have a socket or a carrier for.
    case noRoute([Attempt])
    /// Nobody answered.
    case unreachable([Attempt])
    /// Another node answered, with another key.
    case wrongNode(at: Route, NodeID)
    /// The peer answered and ended it at once.
    case refused(QUICClosure)
    case cancelled
    /// The endpoint is closed.
    case endpointClosed
}
