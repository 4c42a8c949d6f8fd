import MewBase
import MewLoop
package import MewNode
import MewSession
import MewWire

extension Daemon {
    /// What `mew status` shows of the daemon on this machine.
    ///
    /// - Parameters:
    ///   - addresses: where it can be dialled, as `IP:PORT`.
    ///   - relays: what devices are told, home first.
    ///   - homeRelays: how each of its relays is.
    ///   - damage: what its database lost.
    ///   - mapping: what came of asking the router to open its port.
    package func status(
        addresses: [String], relays: [String], homeRelays: [HomeRelay] = [], damage: StoreDamage = StoreDamage(),
        mapping: ControlMapping? = nil
    ) async -> ControlStatus {
        let tally = await sessions.tally()
        let saving = await surroundings.devices.saving()
        var links: [ControlLink] = []
        for connection in sortedConnections where joinedNumbers.contains(connection.number) {
            links.append(await link(of: connection))
        }
        return ControlStatus(
            node: description.node, name: description.name, version: description.version,
            upMs: startedAt.duration(to: loop.now).wholeMilliseconds, addresses: addresses, relays: relays,
            relayLegs: homeRelays.map { ControlRelay($0, now: loop.now) }, links: links, sessions: tally.sessions,
            runningSessions: tally.running, sessionsNeedingYou: tally.needingYou,
            pairedDevices: devices.devices.count { $0.revokedAtMs == nil },
            windowSecondsLeft: windowRemaining?.components.seconds, isSaving: saving.isSaving,
            notSavingReason: saving.reason, damage: damage, mapping: mapping)
    }

    private func link(of connection: PeerConnection) async -> ControlLink {
        let status = await connection.link.status()
        let (path, address, relay) =
            switch status.path {
            case .direct(let address): ("direct", Optional("\(address)"), String?.none)
            case .relay(let url): ("relay", String?.none, Optional(url))
            }
        return ControlLink(
            node: connection.node, name: await connection.device?.name ?? "",
            applicationProtocol: connection.link.applicationProtocol.rawValue, app: await connection.app, path: path,
            address: address, relay: relay, sinceMs: status.since.duration(to: loop.now).wholeMilliseconds,
            roundTripMs: status.roundTrip?.milliseconds,
            lastProofMs: status.lastProof.duration(to: loop.now).wholeMilliseconds,
            channels: 1 + (await connection.sessionChannels),
            whyNotDirect: status.whyNotDirect)
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 { saturatingNanoseconds / 1_000_000 }
}
