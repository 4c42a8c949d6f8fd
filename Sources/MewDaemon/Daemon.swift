package import MewBase
package import MewHost
package import MewIdentity
package import MewLoop
import MewSession
package import MewWire

/// Accepts peers, knows which of them may enter, and gives them the sessions.
///
/// One actor on the network loop. It owns the device list, the pairing window and the list of connections; each connection
/// is an actor of its own on the same loop, sessions and store are behind protocols.
package actor Daemon {
    /// What the daemon says it is.
    package struct Description: Sendable {
        package let node: NodeID
        /// Of the machine, for people.
        package let name: String
        package let version: String
        /// New at each start.
        package let bootID: BootID

        package init(node: NodeID, name: String, version: String, bootID: BootID) {
            self.node = node
            self.name = name
            self.version = version
            self.bootID = bootID
        }
    }

    /// Everything outside that a daemon needs.
    package struct Surroundings: Sendable {
        package let loop: any Loop
        package let wall: any WallClock
        package let listener: any LinkListener
        package let devices: any DeviceStore
        package let sessions: any SessionService
        package let files: HostFiles
        /// Of the daemon's user: where sessions without a directory work.
        package let home: String
        package let diagnostics: any DiagnosticSink

        package init(
            loop: any Loop, wall: any WallClock, listener: any LinkListener, devices: any DeviceStore,
            sessions: any SessionService, files: HostFiles, home: String, diagnostics: any DiagnosticSink
        ) {
            self.loop = loop
            self.wall = wall
            self.listener = listener
            self.devices = devices
            self.sessions = sessions
            self.files = files
            self.home = home
            self.diagnostics = diagnostics
        }
    }

    package nonisolated let unownedExecutor: UnownedSerialExecutor
    package nonisolated let description: Description
    nonisolated let surroundings: Surroundings
    nonisolated let startedAt: Instant

    var devices = DeviceList()
    /// A row is read, written to the disk and applied without another change of the list in between.
    let deviceChanges = Turnstile()
    var connections: [ConnectionNumber: PeerConnection] = [:]
    var window: OpenWindow?
    /// What devices were told last of where this daemon can be found.
    private(set) var reach: DaemonMessage.Reach?
    /// Whether what happens is being saved.
    private(set) var saving = SavingState.saving
    var lastWindow: UInt64 = 0
    /// Devices that are to be written down, one at a time.
    let grants: AsyncStream<PairingWindow.Grant>
    let grantQueue: AsyncStream<PairingWindow.Grant>.Continuation

    /// Of the devices that are connected.
    private var allowances: [NodeID: DeviceAllowance] = [:]
    private var lastNumber: UInt64 = 0
    private var lastClient: UInt64 = 0
    private var isStopping = false
    private var allEnded: [CheckedContinuation<Void, Never>] = []

    /// Connections of unknown keys that are not in yet (DESIGN §5). The endpoint counts the handshakes before them.
    package static let maxStrangers = 32
    /// One network cannot take all their places, so that the device in the operator's hand finds one.
    package static let maxStrangersPerSource = 8
    /// Every process of a device has a connection of its own, and there are seldom more than five. Room for the thousand of
    /// the benchmark; a leak in a client must not eat the daemon.
    package static let maxConnectionsPerDevice = 1_024

    package init(_ description: Description, in surroundings: Surroundings) {
        self.description = description
        self.surroundings = surroundings
        unownedExecutor = surroundings.loop.asUnownedSerialExecutor()
        startedAt = surroundings.loop.now
        (grants, grantQueue) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    nonisolated var loop: any Loop { surroundings.loop }
    nonisolated var sessions: any SessionService { surroundings.sessions }
    nonisolated var version: String { description.version }

    nonisolated var wallTime: WallTime {
        WallTime(milliseconds: Int64(clamping: surroundings.wall.millisecondsSinceEpoch))
    }

    // MARK: Life

    /// Reads the device list. Before `run`.
    package func load() async throws(DeviceStoreError) {
        devices = DeviceList(try await surroundings.devices.devices())
    }

    /// Serves until the listener gives no more links and the last connection has ended.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.storeGrants() }
            group.addTask { await self.watchSaving() }
            await acceptLinks()
            grantQueue.finish()
            group.cancelAll()
        }
    }

    private func acceptLinks() async {
        await withDiscardingTaskGroup { group in
            while let link = await surroundings.listener.acceptLink() {
                let source = PairingSource(await link.status().path)
                if let (code, reason) = refusal(of: link.peer, from: source) {
                    await link.close(code: code, reason: reason)
                    continue
                }
                let connection = accept(link, from: source)
                group.addTask {
                    await connection.run()
                    await self.ended(connection)
                }
            }
        }
    }

    /// Everybody is told within moments when nothing is being saved any more, and when it is again (NEEDS N-34).
    private func watchSaving() async {
        await tell(await surroundings.devices.saving())
        while !Task.isCancelled { await tell(await surroundings.devices.savingChanged(from: saving)) }
    }

    private func tell(_ state: SavingState) async {
        guard state != saving else { return }
        saving = state
        await sessions.broadcast(.daemonState(state.message))
        note(
            state.isSaving ? .info : .error, state.isSaving ? "saving" : "not_saving",
            state.isSaving ? "everything is being saved again" : "nothing is being saved: \(state.reason ?? "?")")
    }

    /// Why a link is not even looked at.
    private func refusal(of peer: NodeID, from source: PairingSource) -> (CloseCode, String)? {
        if isStopping { return (.shuttingDown, "the daemon is stopping") }
        if isKnown(peer) {
            let isFull = connections(of: peer).count >= Self.maxConnectionsPerDevice
            return isFull ? (.protocolViolation, "this device has too many connections") : nil
        }
        let isFull =
            strangers.count >= Self.maxStrangers
            || strangers.values.count { $0 == source } >= Self.maxStrangersPerSource
        return isFull ? (.unauthorized, "too many devices are waiting") : nil
    }

    private func accept(_ link: any IncomingLink, from source: PairingSource) -> PeerConnection {
        lastNumber += 1
        let number = ConnectionNumber(lastNumber)
        let connection = PeerConnection(
            number, link: link, standing: standing(of: link.peer), daemon: self, loop: loop)
        connections[number] = connection
        if !isKnown(link.peer) { strangers[number] = source }
        return connection
    }

    private func ended(_ connection: PeerConnection) {
        connections[connection.number] = nil
        joinedNumbers.remove(connection.number)
        strangers[connection.number] = nil
        if !connections.values.contains(where: { $0.node == connection.node }) { allowances[connection.node] = nil }
        feedWindow(.left(connection.number))
        guard connections.isEmpty else { return }
        for waiter in allEnded { waiter.resume() }
        allEnded = []
    }

    /// Suspends until nobody is connected any more.
    func connectionsEnded() async {
        await withCheckedContinuation { waiter in
            if connections.isEmpty { waiter.resume() } else { allEnded.append(waiter) }
        }
    }

    /// Ends every connection with close 5; further ones get the same until `run` returns.
    ///
    /// - Parameter backIn: when the daemon will be there again, if it will.
    package func stop(backIn: Duration?) {
        isStopping = true
        feedWindow(.cancel)
        let reason = backIn.map { "restarting, back in \($0.components.seconds) s" } ?? "the daemon is stopping"
        for connection in sortedConnections { connection.post(.shutDown(reason: reason)) }
    }

    // MARK: Who is there

    /// Connections that are in.
    private(set) var joinedNumbers: Set<ConnectionNumber> = []

    /// Connections of keys that were not known when they came, and are not in.
    private var strangers: [ConnectionNumber: PairingSource] = [:]

    var sortedConnections: [PeerConnection] { connections.values.sorted { $0.number < $1.number } }

    func connections(of node: NodeID) -> [PeerConnection] {
        connections.values.filter { $0.node == node }.sorted { $0.number < $1.number }
    }

    private func isKnown(_ node: NodeID) -> Bool {
        if case .paired = devices.standing(of: node) { true } else { false }
    }

    private func standing(of node: NodeID) -> Admission.Standing {
        let mayEnter = window?.machine.isOpen(now: loop.now) ?? false
        return switch devices.standing(of: node) {
        case .paired: .known
        case .stranger: .stranger(mayEnter: mayEnter)
        case .revoked(let atMs): .revoked(mayEnter: mayEnter, reason: Self.revocationReason(atMs: atMs))
        }
    }

    /// Called when a connection is admitted: the device it is, or nil when it was revoked in this very moment.
    func joined(_ connection: PeerConnection) -> Device? {
        guard case .paired(let device) = devices.standing(of: connection.node) else { return nil }
        joinedNumbers.insert(connection.number)
        strangers[connection.number] = nil
        note(.info, "device_connected", "\(device.name) is connected", of: connection)
        return device
    }

    /// - Parameter works: a turn runs that the device began: it is not to think that nothing was done.
    static func revocationReason(atMs: UInt64, works: Bool = false) -> String {
        let at = UTCTime(milliseconds: atMs)
        return "revoked at \(at.date) \(at.clock) UTC; "
            + (works ? "the turn that it began goes on; " : "") + "pair this device again to use it"
    }

    /// The sessions' hold on one channel of a device that is in.
    ///
    /// - Parameters:
    ///   - allowance: of its connection.
    ///   - capabilities: what its program offered beyond what everyone must.
    func client(
        _ role: SessionClient.Role, of device: Device, within allowance: ConnectionAllowance,
        capabilities: Set<String> = []
    ) -> SessionClient {
        lastClient += 1
        return SessionClient(
            id: ClientID(lastClient), role: role, node: device.node, name: device.name, budget: allowance.bytes,
            capabilities: capabilities)
    }

    /// What all connections of a device may cost together.
    func allowance(of node: NodeID) -> DeviceAllowance {
        if let known = allowances[node] { return known }
        let new = DeviceAllowance()
        allowances[node] = new
        return new
    }

    // MARK: What it says

    /// The daemon can be found there from now on. An older announcement that comes late is dropped.
    func announce(_ reach: DaemonMessage.Reach) async {
        if let present = self.reach, present.counter >= reach.counter { return }
        self.reach = reach
        await sessions.broadcast(.reach(reach))
    }

    nonisolated func ready(for device: Device) -> DaemonMessage.RemoteReady {
        .init(
            scope: device.scope, capabilities: Admission.mandatoryCapabilities + Admission.optionalCapabilities,
            bootID: description.bootID, limits: Self.limits, you: .init(name: device.name, scope: device.scope))
    }

    private static let limits = DaemonMessage.Limits(
        frameBytes: 8 << 20, promptBytes: 1 << 20, uploadBytes: 0, streams: UInt64(PeerConnection.maxSessionChannels))

    nonisolated func note(
        _ level: Diagnostic.Level, _ name: String, _ message: String, of connection: PeerConnection? = nil,
        fields: [String: Diagnostic.Value] = [:]
    ) {
        surroundings.diagnostics.record(ifWanted: level) {
            var fields = fields
            if let connection {
                fields["connection"] = .text("\(connection.number)")
                fields["node"] = .text("\(connection.node)")
            }
            return Diagnostic(level, "daemon", name, message, fields)
        }
    }
}

extension SavingState {
    var message: DaemonMessage.DaemonState { .init(isSaving: isSaving, reason: reason) }
}
