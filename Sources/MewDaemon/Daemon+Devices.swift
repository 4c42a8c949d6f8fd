import MewBase
package import MewIdentity
package import MewWire

// What the operator may do with paired devices (`mew peers`). Stored first, then in force.

extension Daemon {
    /// Every device, revoked ones included, with its live connections.
    package func peers() -> [ControlPeer] {
        devices.devices.map { device in
            ControlPeer(
                node: device.node, name: device.name, scope: device.scope,
                pairedAtMs: Int64(clamping: device.pairedAtMs),
                revokedAtMs: device.revokedAtMs.map { Int64(clamping: $0) },
                connections: connections(of: device.node).count { joinedNumbers.contains($0.number) })
        }
    }

    /// - Throws: `bad_input` for no name, `unknown_daemon` for a key that is not paired, `not_saved`.
    package func rename(_ node: NodeID, to name: String) async throws(ControlError) {
        let clean = name.printableName
        guard !clean.isEmpty else { throw ControlError(code: "bad_input", message: "a device needs a name") }
        try await change(node) { $0.name = clean }
    }

    /// Holds from the next request on, also on live connections.
    ///
    /// - Throws: `unknown_daemon` for a key that is not paired, `not_saved`.
    package func setScope(_ scope: Scope, of node: NodeID) async throws(ControlError) {
        try await change(node) {
            $0.scope = scope
        } then: {
            await sessions.limit(node, to: scope)
        }
    }

    /// Persists, then closes every live connection of that key with a reason the device shows (NEEDS N-25). Touches nobody
    /// else.
    ///
    /// - Returns: how many connections were closed.
    package func revoke(_ node: NodeID) async throws(ControlError) -> Int {
        var closed = 0
        // Within its turn: a new pairing of the same key comes before all of this or after it.
        try await change(node) {
            $0.revokedAtMs = surroundings.wall.millisecondsSinceEpoch
        } then: {
            closed = await shutOut(node)
            await sessions.revoke(node)
        }
        return closed
    }

    /// Revokes every paired device. All are shut out before what they left is looked for, because that takes its time.
    ///
    /// - Returns: how many connections were closed.
    package func revokeAll() async throws(ControlError) -> Int {
        var (closed, gone): (Int, [NodeID]) = (0, [])
        do throws(ControlError) {
            for device in devices.devices where device.revokedAtMs == nil {
                try await change(device.node) {
                    $0.revokedAtMs = surroundings.wall.millisecondsSinceEpoch
                } then: {
                    closed += await shutOut(device.node)
                    gone.append(device.node)
                }
            }
        } catch {
            await dropWork(of: gone)
            throw error
        }
        await dropWork(of: gone)
        return closed
    }

    /// Of those that are still revoked when it is their turn: a new pairing has dropped it itself.
    private func dropWork(of nodes: [NodeID]) async {
        for node in nodes {
            await deviceChanges.pass { if devices[node]?.revokedAtMs != nil { await sessions.revoke(node) } }
        }
    }

    private func shutOut(_ node: NodeID) async -> Int {
        guard let atMs = devices[node]?.revokedAtMs else { return 0 }
        let reason = Self.revocationReason(atMs: atMs, works: await sessions.works(for: node))
        let live = connections(of: node)
        for connection in live { connection.post(.revoked(atMs: atMs, reason: reason)) }
        note(.warning, "device_revoked", "a device was revoked", fields: ["node": .text("\(node)")])
        return live.count
    }

    private func change(
        _ node: NodeID, _ change: (inout Device) -> Void, then: () async -> Void = {}
    ) async throws(ControlError) {
        try await deviceChanges.pass { () async throws(ControlError) in
            guard var device = devices[node], device.revokedAtMs == nil else {
                throw ControlError(
                    code: "unknown_daemon", message: "no device with that node ID is paired; mew peers lists them")
            }
            change(&device)
            do throws(DeviceStoreError) {
                try await surroundings.devices.save(device, dropping: nil)
            } catch {
                throw ControlError(code: "not_saved", message: "nothing was changed, because \(error.reason)")
            }
            devices.apply(device)
            for connection in connections(of: node) { connection.post(.device(device)) }
            await then()
        }
    }

    private func revokedNodes(_ nodes: NodeID?...) -> [NodeID] {
        nodes.compactMap { $0 }.filter { devices[$0]?.revokedAtMs != nil }
    }

    /// False, with a diagnostic, when it was not written down.
    func pair(_ device: Device) async -> Bool {
        await deviceChanges.pass {
            guard case .write(let device, let former) = devices.pairing(device) else {
                note(.error, "device_list_full", "no device can be paired: \(DeviceList.capacity) are already")
                return false
            }
            // Before its row says otherwise: whatever kept its work from being dropped then, a crash perhaps, nothing of it is
            // done for the new pairing. The row that gives way says for the last time that its device was revoked.
            for node in revokedNodes(device.node, former?.node) {
                guard await sessions.revoke(node) else {
                    note(.error, "device_not_paired", "what the device left when it was revoked could not be dropped")
                    return false
                }
            }
            do throws(DeviceStoreError) {
                try await surroundings.devices.save(device, dropping: former)
            } catch {
                note(.error, "device_not_saved", "the new device could not be saved: \(error.reason)")
                return false
            }
            devices.apply(device, dropping: former)
            await sessions.readmit(device.node, as: device.scope)
            for connection in connections(of: device.node) { connection.post(.device(device)) }
            return true
        }
    }
}
