package import MewSession
import MewWire

/// Where the device list survives a restart, and whether anything is being saved at all.
package protocol DeviceStore: Sendable {
    /// Every device, revoked ones included.
    func devices() async throws(DeviceStoreError) -> [Device]

    /// Returns when the row is on the disk, and that of `former` gone, both or neither.
    func save(_ device: Device, dropping former: Device?) async throws(DeviceStoreError)

    /// Whether writes reach the disk now.
    func saving() async -> SavingState

    /// Suspends until the state differs from `known`, or the task is cancelled; returns the present one.
    func savingChanged(from known: SavingState) async -> SavingState
}

/// Nothing was changed.
package struct DeviceStoreError: Error, Equatable, Sendable {
    /// Half a sentence for people.
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

/// The devices of a session store.
package struct StoredDevices: DeviceStore {
    private let store: any SessionStore

    package init(_ store: any SessionStore) {
        self.store = store
    }

    package func devices() async throws(DeviceStoreError) -> [Device] {
        do throws(StoreError) {
            return try await store.devices().map(Device.init)
        } catch {
            throw DeviceStoreError(reason: "\(error)")
        }
    }

    package func save(_ device: Device, dropping former: Device?) async throws(DeviceStoreError) {
        do throws(StoreError) {
            try await store.commit((former.map { [.deleteDevice($0.node)] } ?? []) + [.putDevice(device.row)])
        } catch {
            throw DeviceStoreError(reason: "\(error)")
        }
    }

    package func saving() async -> SavingState { await store.saving() }

    package func savingChanged(from known: SavingState) async -> SavingState {
        await store.savingChanged(from: known)
    }
}

extension Device {
    fileprivate init(_ row: DeviceRow) {
        self.init(
            node: row.node, name: row.name, scope: row.scope, pairedAtMs: UInt64(row.pairedAt),
            revokedAtMs: row.revokedAt.map { UInt64($0) },
            spentCode: row.spentToken.flatMap { PairingDigest(bytes: $0) })
    }

    fileprivate var row: DeviceRow {
        DeviceRow(
            node: node, name: name, scope: scope, pairedAt: WallTime(pairedAtMs),
            revokedAt: revokedAtMs.map { WallTime($0) }, spentToken: spentCode?.bytes)
    }
}

extension UInt64 {
    /// Wall times before 1970 are the epoch.
    fileprivate init(_ time: WallTime) { self.init(clamping: time.milliseconds) }
}

extension WallTime {
    fileprivate init(_ milliseconds: UInt64) { self.init(milliseconds: Int64(clamping: milliseconds)) }
}
