internal import MewBase
internal import MewHTTP3
internal import MewIdentity
internal import MewLoop
internal import MewQUIC
internal import MewQUICCore

/// The relay's door for HTTP/3: what its endpoint is like, and who may come in.
///
/// `@unchecked Sendable`: made and called on the hub's loop only, which is the endpoint's.
final class HTTP3Front: DirectAcceptor, @unchecked Sendable {
    /// Until the endpoint is closed.
    private let hub: RelayHub

    static let noError = HTTP3Failure.noError
    static let applicationProtocol = "h3"

    init(_ hub: RelayHub) {
        self.hub = hub
    }

    func configuration(_ addresses: [SocketAddress]) -> EndpointConfiguration {
        // Without a key of its own nothing is pinned, and any will do.
        var configuration = EndpointConfiguration(
            secret: hub.secret ?? SecretKey.generate(entropy: SystemEntropy()), addresses: addresses,
            acceptedProtocols: [Self.applicationProtocol])
        configuration.authentication = .anonymousClients(hub.identity?.store)
        configuration.transport = Self.transport
        configuration.admission.strangers = hub.limits.strangers
        configuration.admission.halfOpen = hub.limits.strangers
        configuration.admission.authorizationTime = hub.limits.admission
        configuration.diagnostics = hub.diagnostics
        return configuration
    }

    /// Of a connection of a client. What a client sends besides datagrams is little, and what it may make us keep is, too.
    static var transport: TransportConfiguration {
        var transport = TransportConfiguration()
        // DESIGN §5: legs over HTTP/3.
        transport.congestionControl = .bbr
        transport.streamWindow = 64 << 10
        transport.maxStreamWindow = 256 << 10
        transport.connectionWindow = 256 << 10
        transport.maxConnectionWindow = 1 << 20
        transport.maxAcceptedWindow = 1 << 20
        transport.bidirectionalStreams = HTTP3Core.Limits().requests
        transport.unauthorizedStreams = HTTP3Core.Limits().requests
        // RFC 9114 §6.2: "at least three"; some more for those that are only greased.
        transport.unidirectionalStreams = 8
        transport.unauthorizedUnidirectionalStreams = 8
        return transport
    }

    func accept(_ connection: DirectConnection) {
        guard let peer = connection.remote, !hub.isStopping else {
            return connection.close(code: Self.noError, reason: "the relay ends")
        }
        let source = SourceBudget.Source(peer)
        if let refusal = hub.enter(source) {
            hub.metrics.refused += 1
            hub.tellRefused(source, peer, refusal)
            return connection.close(code: HTTP3Failure.excessiveLoad, reason: "too many connections at this relay")
        }
        hub.metrics.accepted += 1
        hub.lastNumber += 1
        let number = ConnectionNumber(raw: hub.lastNumber)
        do throws(HTTP3Failure) {
            let pump = try HTTP3Pump(.server, over: connection)
            let client = HTTP3Client(number, pump, at: peer, hub: hub)
            hub.http3[number] = client
            client.start()
        } catch {
            hub.budget.leave(source, wasStranger: true)
            connection.close(code: error.code, reason: error.description)
        }
    }
}
