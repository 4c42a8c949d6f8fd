internal import MewBase
package import MewClient
internal import MewLoop

/// What a device keeps on its disk: it survives every kill of the device.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class DeviceShelf: @unchecked Sendable {
    package fileprivate(set) var records = ClientRecords()
    /// Counts the starts of the device's program.
    fileprivate var life = 0
    /// Hears of each operation in the moment it is recorded.
    var onBegun: (Operation) -> Void = { _ in }

    init(knowing daemon: DaemonRecord) {
        guard (try? records.registry.add(daemon)) != nil else { preconditionFailure("an empty registry has room") }
    }

    /// A new run of the program: what it knows is what it reads.
    func open(on loop: any Loop) -> any ClientStore {
        life += 1
        guard let read = try? ClientRecords(stored: records.stored) else {
            preconditionFailure("what was kept is read")
        }
        records = read
        return DeviceStore(shelf: self, life: life, loop: loop)
    }

    fileprivate func keep(_ changed: ClientRecords) {
        let known = Set(records.operations.map(\.id))
        records = changed
        for operation in changed.operations where !known.contains(operation.id) { onBegun(operation) }
    }
}

/// The shelf as one run of the program sees it. A run that is over changes nothing any more.
private struct DeviceStore: ClientStore {
    let shelf: DeviceShelf
    let life: Int
    let loop: any Loop

    /// Of a sync on a phone.
    private static let syncTime: Duration = .milliseconds(3)

    var instance: ClientInstance { Self.instance(life) }

    private static func instance(_ life: Int) -> ClientInstance { ClientInstance("run \(life)") }

    func isRunning(_ instance: ClientInstance) -> Bool { instance == Self.instance(shelf.life) }

    func records() async throws(ClientStoreError) -> ClientRecords { shelf.records }

    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) async throws(ClientStoreError) -> Value {
        // A write goes on when nobody waits for it any more.
        _ = await LoopClock(loop).pause(for: Self.syncTime)
        guard shelf.life == life else { throw .notSaved(path: "shelf", cause: "the program is over") }
        var records = shelf.records
        let value = try change(&records)
        shelf.keep(records)
        return value
    }
}
