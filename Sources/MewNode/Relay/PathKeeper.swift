import MewBase
import MewIdentity
import MewLoop
import MewPath
import MewQUIC
import MewQUICCore
import MewRelay
import MewWire

/// Keeps one dialled connection on the best way while it lives: from the relay to an address that answers, and back when that
/// falls silent. Only the dialler can (DESIGN §6); its relay legs stay open as long as the connection lives.
struct PathKeeper: Sendable {
    let connection: Connection
    let target: DialTarget
    let relays: NodeRelays
    let urls: [RelayURL]

    /// Returns when the connection is over.
    func run() async {
        var legs: [NodeRelays.Joined] = []
        for url in urls { legs.append(await relays.visit(url)) }
        await withTaskGroup(of: Void.self) { [legs] group in
            group.addTask { _ = try? await connection.closed() }
            group.addTask { await keep(legs) }
            group.addTask { await announce(legs) }
            await group.next()
            group.cancelAll()
        }
        for url in urls { await relays.release(url) }
    }

    private func announce(_ legs: [NodeRelays.Joined]) async {
        let announcements = LegAnnouncements(connection: connection, peer: target.node)
        await withDiscardingTaskGroup { group in
            for joined in legs { group.addTask { await announcements.run(joined) } }
        }
        // It ends last: with the connection, which the other task of the group sees.
        _ = try? await connection.closed()
    }

    private func keep(_ legs: [NodeRelays.Joined]) async {
        let loop = connection.loop
        var choice = PathChoice(target.addresses, now: loop.now)
        while let sample = await sample(legs) {
            while let call = await connection.takeCall() {
                choice.called(call.call.candidates, now: loop.now)
                if call.isUnheard { await useRelay(legs) }
            }
            switch choice.look(at: sample, now: loop.now) {
            case .stay: break
            case .probe(let address): await probe(address, &choice)
            case .fallBack, .renewRelay: await useRelay(legs)
            }
            guard (try? await LoopClock(loop).sleep(for: PathChoice.interval)) != nil else { break }
        }
        // Cancelled or ended: the other task of the group says which.
        _ = try? await connection.closed()
    }

    private func sample(_ legs: [NodeRelays.Joined]) async -> PathChoice.Sample? {
        guard await connection.isOpen, let status = try? await connection.status else { return nil }
        var address: SocketAddress?
        var relaySince: Instant?
        switch status.route {
        case .direct(let present): address = present
        case .carried(let carrier, _):
            if let joined = legs.first(where: { $0.carrier == carrier }),
                case .connected(let since) = await joined.leg.status.phase
            {
                relaySince = since
            }
        case nil: break
        }
        return PathChoice.Sample(
            address: address, hasDataInFlight: status.statistics.bytesInFlight > 0,
            lastProof: status.statistics.lastProof, roundTrip: status.statistics.roundTrip,
            since: status.statistics.pathSince, relaySince: relaySince)
    }

    private func probe(_ address: SocketAddress, _ choice: inout PathChoice) async {
        do throws(QUICError) {
            if try await connection.migrate(to: .direct(address)) {
                choice.moved(to: address)
            } else {
                choice.failed(address, now: connection.loop.now)
            }
        } catch {
            // Not possible yet: the handshake is not confirmed, or the peer has given us no further connection ID.
        }
    }

    /// Through the first relay that forwards. When none does, the next look tries again.
    private func useRelay(_ legs: [NodeRelays.Joined]) async {
        for joined in legs where await joined.leg.status.isConnected {
            let route = await joined.route(to: target.node)
            if (try? await connection.migrateImmediately(to: route)) != nil { return }
        }
    }
}
