internal import CQuic
internal import CQuicShim
package import MewBase
package import MewIdentity

/// One QUIC connection, synchronous: packets and the time go in, packets, events and the next deadline come out.
///
/// No sockets, no clock, no thread. After every call the owner takes the events (`takeEvents`), writes what is due
/// (`beginBurst`, `transmit`) and arms one timer for `deadline`. The mechanisms live in files of their own:
/// handshake, receiving, transmitting, streams, paths, closing.
///
/// A class, because ngtcp2's callbacks find it by pointer. It must not be released while one of its methods runs.
package final class ConnectionCore {
    package enum Role: Sendable { case client, server }

    package let role: Role
    package let configuration: TransportConfiguration
    let tls: TLSSession
    let resetKey: ResetKey
    let entropy: any Entropy

    /// The library's connection; nil only before `init` has finished.
    var connection: OpaquePointer?

    /// The latest time we were given. ngtcp2 aborts the process when time goes back (spec/swift-notes.md §2).
    private var latest: Instant

    var events: [ConnectionEvent] = []
    let streams = StreamTable()
    let datagrams: DatagramQueues
    /// Gets the datagrams of the peer at once, within `receive`, instead of the queue; must not call back. The bytes are valid
    /// within the call.
    package var onDatagram: ((UnsafeRawBufferPointer) -> Void)?
    let transmitter = Transmitter()
    let incomingPath = PathStorage()
    var peerIDs = PeerConnectionIDs()
    var counters = ConnectionCounters()
    var flight = FlightLog()
    var pauses: PauseWatch

    package internal(set) var isEstablished = false
    package internal(set) var isConfirmed = false
    package internal(set) var isAuthorized: Bool
    /// How it ended; nil while it lives.
    package internal(set) var closure: QUICClosure?
    /// What to tell the peer when it still talks to a closed connection.
    package internal(set) var farewell: Farewell?
    /// A close that waits for the next transmission.
    var pendingClose: PendingClose?
    /// Nothing but the last packet is to leave.
    package var isClosing: Bool { pendingClose != nil }

    /// Something arrived since the last burst.
    var hasReceived = false

    /// The path that carries the connection.
    package internal(set) var path: CorePath
    /// The same, as the library writes it.
    let pathStorage = PathStorage()
    /// The library may have changed the path since we last looked.
    var mayHaveMoved = false
    /// Since when.
    package internal(set) var pathSince: Instant
    /// When the path last changed; nil before the first time.
    var lastMigration: Instant?
    /// A check of another path is running.
    var isProbingPath = false

    /// The peer's TLS messages said nothing about QUIC.
    var lacksTransportParameters = false

    /// The time limit of a handshake counts from here.
    package let startedAt: Instant

    private init(
        role: Role, configuration: TransportConfiguration, tls: TLSSession, resetKey: ResetKey, entropy: any Entropy,
        path: CorePath, now: Instant
    ) {
        self.role = role
        self.configuration = configuration
        self.tls = tls
        self.resetKey = resetKey
        self.entropy = entropy
        self.path = path
        latest = now
        startedAt = now
        pathSince = now
        pauses = PauseWatch(first: configuration.askAfterPause, usual: configuration.keepAlive)
        datagrams = DatagramQueues(limit: configuration.queuedDatagrams)
        isAuthorized = role == .client
        counters.lastProof = now
        pathStorage.set(path)
    }

    deinit {
        ngtcp2_conn_del(connection)
    }

    /// Starts dialling `peer`. Nothing is sent before `transmit`.
    ///
    /// - Parameter protocols: offered in this order.
    package static func dial(
        _ peer: NodeID, protocols: [String], path: CorePath, credentials: TLSCredentials, resetKey: ResetKey,
        configuration: TransportConfiguration, entropy: any Entropy, now: Instant
    ) throws -> ConnectionCore {
        try dial(
            peer, protocols: protocols, path: path, credentials: credentials, resetKey: resetKey,
            configuration: configuration, entropy: entropy, now: now, callbacks: Callbacks.table)
    }

    /// The same with other callbacks: tests damage packets before they are encrypted.
    static func dial(
        _ peer: NodeID, protocols: [String], path: CorePath, credentials: TLSCredentials, resetKey: ResetKey,
        configuration: TransportConfiguration, entropy: any Entropy, now: Instant, callbacks: ngtcp2_callbacks
    ) throws -> ConnectionCore {
        let tls = try TLSSession(.node(peer), protocols: protocols, credentials: credentials)
        let core = ConnectionCore(
            role: .client, configuration: configuration, tls: tls, resetKey: resetKey, entropy: entropy, path: path,
            now: now)
        try core.createClient(now: now, callbacks: callbacks)
        return core
    }

    /// Starts dialling a server that does not ask who we are.
    package static func dial(
        _ demand: ServerDemand, protocols: [String], path: CorePath, credentials: TLSCredentials, resetKey: ResetKey,
        configuration: TransportConfiguration, entropy: any Entropy, now: Instant
    ) throws -> ConnectionCore {
        let tls = try TLSSession(.server(demand), protocols: protocols, credentials: credentials)
        let core = ConnectionCore(
            role: .client, configuration: configuration, tls: tls, resetKey: resetKey, entropy: entropy, path: path,
            now: now)
        try core.createClient(now: now, callbacks: Callbacks.table)
        return core
    }

    /// Accepts the connection that `initial` asks for. The packet itself is then given to `receive`.
    ///
    /// - Parameter protocols: chosen in this order among those the dialler offers.
    package static func accept(
        _ initial: InitialPacket, protocols: [String], path: CorePath, credentials: TLSCredentials, resetKey: ResetKey,
        configuration: TransportConfiguration, entropy: any Entropy, now: Instant
    ) throws -> ConnectionCore {
        let tls = try TLSSession(
            credentials.servesAnyone ? .anyone : .anyNode, protocols: protocols, credentials: credentials)
        let core = ConnectionCore(
            role: .server, configuration: configuration, tls: tls, resetKey: resetKey, entropy: entropy, path: path,
            now: now)
        try core.createServer(initial, now: now)
        return core
    }

    /// Clamps `now` so that it never goes back.
    func timestamp(_ now: Instant) -> ngtcp2_tstamp {
        latest = max(latest, now)
        return latest.nanoseconds
    }

    var now: Instant { latest }

    /// Everything that happened since the last call.
    package func takeEvents() -> [ConnectionEvent] {
        guard !events.isEmpty else { return [] }
        defer { events = [] }
        return events
    }

    /// Who the peer proved to be; set from `established` on, unless it was not asked.
    package var peer: NodeID? {
        guard isEstablished, case .key(let node) = tls.peerCertificate else { return nil }
        return node
    }

    /// The protocol both sides agreed on; set from `established` on.
    package var applicationProtocol: String? { isEstablished ? tls.applicationProtocol : nil }

    /// Keying material that only the two ends can compute; nil before `established`, and on the listening side after
    /// `authorize`.
    package func export(label: String, byteCount: Int) -> [UInt8]? {
        isEstablished ? tls.export(label: label, byteCount: byteCount) : nil
    }
}
