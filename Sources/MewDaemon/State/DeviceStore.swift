/// Where the device list survives a restart.
package protocol DeviceStore: Sendable {
    /// Every device, revoked ones included.
    func devices() async throws(DeviceStoreError) -> [Device]

    /// Returns when the row is on the disk, and that of `former` gone, both or neither.
    func save(_ device: Device, dropping former: Device?) async throws(DeviceStoreError)
}

/// Nothing was changed.
package struct DeviceStoreError: Error, Equatable, Sendable {
    /// Half a sentence for people.
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}
