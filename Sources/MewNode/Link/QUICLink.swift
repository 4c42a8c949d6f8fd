package import MewBase
package import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
package import MewWire

/// A `Link` over one QUIC connection. On a native link every bidirectional stream is a channel; a stock link has one stream,
/// with a WebSocket on it, and a second one of its peer is never read (spec/mew-wire.md §1.2).
///
/// Pinned to the connection's loop.
package actor QUICLink: IncomingLink {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    package nonisolated let peer: NodeID
    package nonisolated let applicationProtocol: ApplicationProtocol
    private let connection: Connection
    private let names: CarrierNames
    /// Nil on the listening side.
    private let keeper: PathKeeper?
    private let entropy: any Entropy

    private let account = ReceiveCharge.Account()

    /// A stock link has had its one channel.
    private var stockChannelIsTaken = false

    /// - Parameter connection: one whose handshake is complete.
    init(
        _ connection: Connection, peer: NodeID, applicationProtocol: ApplicationProtocol, names: CarrierNames,
        keeper: PathKeeper?, entropy: any Entropy
    ) {
        unownedExecutor = connection.unownedExecutor
        self.connection = connection
        self.names = names
        self.keeper = keeper
        self.peer = peer
        self.applicationProtocol = applicationProtocol
        self.entropy = entropy
    }

    /// Nil when the connection ended meanwhile, or speaks nothing we know.
    static func over(
        _ connection: Connection, names: CarrierNames, entropy: any Entropy, keeper: PathKeeper? = nil
    ) async -> QUICLink? {
        guard let peer = try? await connection.peer,
            let name = try? await connection.applicationProtocol, let known = ApplicationProtocol(rawValue: name)
        else { return nil }
        return QUICLink(
            connection, peer: peer, applicationProtocol: known, names: names, keeper: keeper, entropy: entropy)
    }

    // MARK: Channels

    package func openChannel() async throws(ChannelError) -> any MessageChannel {
        if applicationProtocol == .stock {
            guard !stockChannelIsTaken else { throw .protocolViolation("a stock link has exactly one channel") }
            stockChannelIsTaken = true
        }
        let stream: QUICStream
        do {
            stream = try await connection.openStream()
        } catch {
            throw ChannelError(error)
        }
        switch applicationProtocol {
        case .native:
            return channel(on: stream, .native, received: [], charge: nil)
        case .stock:
            let request = StockUpgrade.Request(entropy: entropy)
            let received = try await request.perform(on: QUICByteStream(stream: stream))
            return channel(on: stream, .webSocketClient, received: received, charge: nil)
        }
    }

    package func acceptChannel() async -> (any MessageChannel)? {
        switch applicationProtocol {
        case .native:
            guard let stream = await connection.acceptStream() else { return nil }
            return channel(on: stream, .native, received: [], charge: ReceiveCharge(to: account))
        case .stock:
            return await acceptStockChannel()
        }
    }

    private func acceptStockChannel() async -> (any MessageChannel)? {
        guard !stockChannelIsTaken else {
            _ = await closed()
            return nil
        }
        stockChannelIsTaken = true
        guard let stream = await connection.acceptStream() else {
            // Gone or cancelled; after a cancelled call the next one may go on.
            stockChannelIsTaken = false
            return nil
        }
        do throws(ChannelError) {
            let received = try await StockUpgrade.answer(on: QUICByteStream(stream: stream))
            return channel(on: stream, .webSocketServer, received: received, charge: ReceiveCharge(to: account))
        } catch {
            await refuse(error)
            return nil
        }
    }

    /// The one stream of a stock link is no WebSocket: there is nothing else to do on it.
    private func refuse(_ error: ChannelError) async {
        switch error {
        case .protocolViolation(let reason): await close(code: .protocolViolation, reason: reason)
        case .tooLarge, .reset, .finished: await close(code: .protocolViolation, reason: "no WebSocket upgrade")
        case .linkClosed, .cancelled: break
        }
    }

    private func channel(
        on stream: QUICStream, _ framing: ChannelFraming, received: [UInt8], charge: ReceiveCharge?
    ) -> StreamChannel {
        StreamChannel(
            stream: QUICByteStream(stream: stream), framing: framing, received: received, charge: charge,
            loop: connection.loop, entropy: entropy)
    }

    // MARK: The link itself

    package func export(label: String, byteCount: Int) async throws(ChannelError) -> [UInt8] {
        do {
            return try await connection.export(label: label, byteCount: byteCount)
        } catch {
            throw ChannelError(error)
        }
    }

    package func authorize(charging budget: ByteBudget) async {
        account.open(budget)
        await connection.authorize()
    }

    package func recognize() async {
        await connection.recognize()
    }

    package func keepWaiting() async {
        await connection.keepWaiting()
    }

    package func observeMoves(_ observer: @escaping @Sendable (LinkMove) -> Void) async {
        await connection.observeMoves { [names] move in
            observer(
                LinkMove(
                    from: LinkPath(move.from, names), to: LinkPath(move.to, names), wasUnheard: move.wasUnheard))
        }
    }

    /// What was sent in this turn of the loop still leaves before the close: a last message such as `revoked` then usually
    /// arrives. Nothing waits for acknowledgements; the reason says it all once more.
    package func close(code: CloseCode, reason: String) async {
        await connection.loop.nextTurn()
        await connection.close(code: code.rawValue, reason: reason)
    }

    package func closed() async -> LinkClosure? {
        do {
            return LinkClosure(try await connection.closed())
        } catch {
            return nil
        }
    }

    package func status() async -> LinkStatus {
        let now = connection.loop.now
        guard let status = try? await connection.status else {
            return LinkStatus(path: .direct(.anyIPv4), roundTrip: nil, since: now, lastProof: now)
        }
        let numbers = status.statistics
        var link = LinkStatus(
            path: status.route.map { LinkPath($0, names) } ?? .direct(numbers.path.remote),
            roundTrip: numbers.roundTrip,
            since: numbers.pathSince, lastProof: numbers.lastProof)
        if let keeper {
            await keeper.describe(&link)
        } else if case .relay = link.path {
            link.whyNotDirect = Self.otherSideDecides
        }
        return link
    }

    package func status(when isEnough: @escaping @Sendable (LinkStatus) -> Bool) async -> LinkStatus {
        // Before the status is asked for, so that no decision is missed.
        var seen = await keeper?.decisions.count
        while true {
            let status = await status()
            guard !isEnough(status), let keeper, let last = seen else { return status }
            seen = await keeper.decided(after: last)
            // Over, or nobody waits any more: how it is now.
            guard seen != nil else { return await self.status() }
        }
    }

    package func learned(addresses: [SocketAddress], relays: [String]) async {
        await keeper?.learned(addresses, relays: relays.compactMap { try? RelayURL($0) })
    }

    private static let otherSideDecides = WhyNotDirect(
        .otherSideDecides, text: "only the device can move it to an address, because the device dialled",
        help: "Run 'mew status D' on that device, where D is this machine.")
}

extension Loop {
    /// Suspends until the present turn, with its packets, is over.
    func nextTurn() async {
        await withCheckedContinuation { continuation in post { continuation.resume() } }
    }
}
