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
        try await change(node) { $0.scope = scope }
    }

    /// Persists, then closes every live connection of that key with a reason the device shows (NEEDS N-25). Touches nobody
    /// else.
    ///
    /// - Returns: how many connections were closed.
    package func revoke(_ node: NodeID) async throws(ControlError) -> Int {
        let atMs = surroundings.wall.millisecondsSinceEpoch
        var live: [PeerConnection] = []
        // Within its turn: a new pairing of the same key comes before all of this or after it.
        try await change(node) {
            $0.revokedAtMs = atMs
        } then: {
            live = connections(of: node)
            for connection in live {
                connection.post(.revoked(atMs: atMs, reason: Self.revocationReason(atMs: atMs)))
            }
            await sessions.revoke(node)
        }
        note(.warning, "device_revoked", "a device was revoked", fields: ["node": .text("\(node)")])
        return live.count
    }

    /// Revokes every paired device, one after the other.
    ///
    /// - Returns: how many connections were closed.
    package func revokeAll() async throws(ControlError) -> Int {
        var closed = 0
        for device in devices.devices where device.revokedAtMs == nil { closed += try await revoke(device.node) }
        return closed
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
            for node in revokedNodes(device.node, former?.node) { await sessions.revoke(node) }
            do throws(DeviceStoreError) {
                try await surroundings.devices.save(device, dropping: former)
            } catch {
                note(.error, "device_not_saved", "the new device could not be saved: \(error.reason)")
                return false
            }
            devices.apply(device, dropping: former)
            await sessions.readmit(device.node)
            for connection in connections(of: device.node) { connection.post(.device(device)) }
            return true
        }
    }
}
