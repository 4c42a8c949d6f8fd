import MewBase
import MewClient
import MewIdentity
import MewLoop

/// The client records of a state directory: `client.json`, replaced as a whole, and `client.lock`, held while it is being
/// changed, so that several processes can use one directory (DESIGN §4).
///
/// Pinned to a loop for blocking work: syncing a file takes milliseconds.
actor FileClientStore: ClientStore {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: BlockingLoop
    private let directory: PrivateDirectory
    nonisolated let instance = ClientInstance(ofThisProcess: SystemEntropy())

    init(directory: PrivateDirectory, loop: BlockingLoop) {
        self.directory = directory
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    private static let file = "client.json"
    private static let lock = "client.lock"
    /// 256 daemons and 1,000 operations are about 300 KiB; each daemon may come with four relays' authorities of 16 KiB; what
    /// operations said and drafts are 6 MiB, twice or more as JSON.
    private static let maxBytes = 48 << 20
    /// Others hold the lock for the time of one write, which may be a second on a loaded disk; a stopped process may hold it for ever.
    private static let lockPatience: Duration = .seconds(10)
    private static let lookEvery: Duration = .milliseconds(5)
    /// Who has just let go leaves others the time to look: else one that writes without a pause would never let them in.
    private static let courtesy: Duration = .milliseconds(6)
    private var nextTurn = Instant.zero

    func records() throws(ClientStoreError) -> ClientRecords {
        let path = directory.file(Self.file)
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try directory.read(Self.file, maxBytes: Self.maxBytes)
        } catch {
            throw error.kind == .isADirectory ? .notAFile(path: path) : .unreadable(path: path, cause: error.words)
        }
        guard let bytes else { return ClientRecords() }
        do throws(StoredFormError) {
            return try ClientRecords(stored: bytes)
        } catch {
            throw .damaged(path: path, problem: error.description)
        }
    }

    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) async throws(ClientStoreError) -> Value {
        let lock = try await takeLock()
        defer { letGo(lock) }
        var records = try records()
        let old = records
        let value = try change(&records)
        if records != old { try write(records) }
        return value
    }

    /// A process opens its directory once, so that of its own instances only this one goes on.
    nonisolated func isRunning(_ instance: ClientInstance) -> Bool {
        if instance == self.instance { return true }
        guard let process = instance.process, process.number != self.instance.process?.number else { return false }
        return process.isAlive
    }

    /// Throws what an `update` would throw now: to be asked before something is done elsewhere that has to be kept here.
    func rehearse() async throws(ClientStoreError) {
        let lock = try await takeLock()
        defer { letGo(lock) }
        try write(try records())
    }

    private func write(_ records: ClientRecords) throws(ClientStoreError) {
        do throws(SystemError) {
            try directory.write(records.stored, to: Self.file, entropy: SystemEntropy())
        } catch {
            throw Self.storeError(error, path: directory.file(Self.file))
        }
    }

    /// Asks again every few milliseconds instead of waiting in the kernel, where nothing could end the wait.
    private func takeLock() async throws(ClientStoreError) -> FileLock {
        _ = await LoopClock(loop).pause(until: nextTurn)
        let deadline = loop.now.advanced(by: Self.lockPatience)
        while true {
            do throws(SystemError) {
                return try directory.lock(Self.lock, waiting: false)
            } catch {
                guard error.kind == .busy, loop.now < deadline,
                    await LoopClock(loop).pause(for: Self.lookEvery) == .over
                else { throw Self.storeError(error, path: directory.file(Self.lock)) }
            }
        }
    }

    /// The caller lets it go with the end of its scope.
    private func letGo(_ lock: FileLock) {
        nextTurn = loop.now.advanced(by: Self.courtesy)
        withExtendedLifetime(lock) {}
    }

    private static func storeError(_ error: SystemError, path: String) -> ClientStoreError {
        switch error.kind {
        case .readOnly, .permissionDenied: .readOnly(path: path)
        case .isADirectory: .notAFile(path: path)
        case .busy: .notSaved(path: path, cause: "another mew process holds the lock")
        default: .notSaved(path: path, cause: error.words)
        }
    }
}

extension SystemError {
    /// What the system said, without what we were doing.
    var words: String {
        let parts = description.split(separator: ": ")
        return parts.last.map(String.init) ?? description
    }
}
