internal import CQuic
package import MewIdentity

/// What a dialler that shows no key of its own wants of the server.
package enum ServerDemand: Sendable {
    /// That it has this key, and shows it as a raw public key.
    case key(NodeID)
    /// A certificate for this DNS name or IP address, of one of these authorities.
    case host(String, CertificateStore)
    /// Nothing: whoever answers is as good as another.
    case nothing
}

/// Certificates that somebody else has loaded: a server's own with its key, or the authorities that a client believes.
///
/// `@unchecked Sendable`: the library only reads credentials after they were set up, and its manual allows that from any thread.
package struct CertificateStore: @unchecked Sendable {
    /// `gnutls_certificate_credentials_t`.
    let handle: OpaquePointer
    /// Keeps `handle` alive.
    private let owner: AnyObject

    package init(_ handle: OpaquePointer, of owner: AnyObject) {
        self.handle = handle
        self.owner = owner
    }
}

/// How an endpoint and those who dial it know one another.
package enum EndpointAuthentication: Sendable {
    /// Both sides show their node keys.
    case nodeKeys
    /// Clients show nothing; the server shows its node key to those who ask for a raw public key, and to others a certificate:
    /// this one, or one that is made up.
    case anonymousClients(CertificateStore?)
}

/// What a TLS session wants of its peer.
enum PeerDemand {
    /// Dialler: this node.
    case node(NodeID)
    /// Dialler that shows nothing itself.
    case server(ServerDemand)
    /// Listener: some node.
    case anyNode
    /// Listener: it is not asked.
    case anyone

    var isClient: Bool {
        switch self {
        case .node, .server: true
        case .anyNode, .anyone: false
        }
    }

    var priorities: TLSPriorities {
        switch self {
        case .node, .anyNode: .shared
        case .server(.key): .rawKeyServer
        case .server(.host), .server(.nothing): .certifiedServer
        case .anyone: .anonymousClients
        }
    }
}
