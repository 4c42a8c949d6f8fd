package import MewBase
internal import MewIdentity
package import MewLoop
package import MewSession
package import MewWire

/// The one `SessionStore` of a running daemon: a SQLite database in WAL mode with `synchronous=FULL`.
///
/// It lives on a loop of its own, where a sync may block, never on the network loop. Commits that arrive while one is being
/// written are gathered into the next, so that many sessions share the price of a sync; none waits for company.
///
/// When the disk is full or fails, commits are refused with `notSaved` and the store tries once a second whether it can write
/// again. It never keeps in memory what it could not write. When a page of the file is found damaged, nothing more is taken into
/// it: the next start repairs it.
package actor SQLiteStore: SessionStore {
    package nonisolated let unownedExecutor: UnownedSerialExecutor

    let loop: any Loop
    let diagnostics: any DiagnosticSink
    private let path: String
    private(set) var connection: Connection?
    /// The file and its log as they were opened; nil for a store without a file of the system's.
    private(set) var place: FilePlace?

    /// Commits for the end of this turn, in the order in which they came.
    private var waiting: [WaitingCommit] = []
    var health = Health.saving
    /// A damaged page was seen, by a read perhaps: no clean end is noted, so that the next start checks and repairs the file.
    var owesCheck = false
    /// Who waits for another `health`.
    var observers: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var observerNumber: UInt64 = 0

    struct Connection {
        let database: Database
        let writer: StoreWriter
        let reader: StoreReader

        /// All of `body` or nothing of it, behind what an unclean end left to be noted.
        func transaction(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
            do throws(SQLiteError) {
                try database.transaction { () throws(SQLiteError) in
                    try writer.markSuspects()
                    try body()
                }
            } catch {
                writer.forget()
                throw error
            }
            writer.committed()
        }
    }

    private struct WaitingCommit {
        let writes: [StoreWrite]
        let done: CheckedContinuation<Result<Void, StoreError>, Never>
    }

    private init(path: String, loop: any Loop, diagnostics: any DiagnosticSink) {
        self.path = path
        self.loop = loop
        self.diagnostics = diagnostics
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// Opens the database, creates it when it is absent, brings an older one up to date and repairs a damaged one.
    ///
    /// - Parameters:
    ///   - loop: where everything runs from now on; its thread may block.
    ///   - vfs: the name of a SQLite file system layer; nil for the system's own. Tests put a disk there that forgets.
    package static func open(
        path: String, on loop: any Loop, vfs: String? = nil, diagnostics: any DiagnosticSink = NoDiagnostics()
    ) async throws(StoreError) -> SQLiteStore {
        let store = SQLiteStore(path: path, loop: loop, diagnostics: diagnostics)
        try await store.connect(vfs: vfs)
        return store
    }

    private func connect(vfs: String?) throws(StoreError) {
        let opened = try Opening(path: path, vfs: vfs, diagnostics: diagnostics).open()
        let diagnostics = diagnostics
        let reader = StoreReader(database: opened.database) { table in
            diagnostics.record(
                Diagnostic(
                    .error, "store", "record_damaged", "a damaged record was left out", ["table": .text(table)]))
        }
        connection = Connection(
            database: opened.database,
            writer: StoreWriter(opened.database, endedUncleanly: opened.endedUncleanly), reader: reader)
        if vfs == nil { place = FilePlace(path) }
    }

    /// Writes what is waiting and closes the file. Idempotent; everything afterwards fails with `closed`.
    package func close() {
        flush()
        guard let connection else { return }
        self.connection = nil
        defer { wakeObservers() }
        guard !owesCheck else { return }
        do throws(SQLiteError) {
            try connection.transaction { () throws(SQLiteError) in try Opening.noteCleanEnd(connection.database) }
        } catch {
            // The next start will then check the file, which is all that the note would have saved.
            diagnostics.record(Diagnostic(.warning, "store", "close_failed", error.description))
        }
    }

    // MARK: - Commits

    package func commit(_ writes: [StoreWrite]) async throws(StoreError) {
        guard !writes.isEmpty else { return }
        let result = await withCheckedContinuation { done in
            waiting.append(WaitingCommit(writes: writes, done: done))
            // One action per group: it runs when the turn's other jobs have added theirs.
            if waiting.count == 1 { loop.atEndOfTurn { [self] in assumeIsolated { $0.flush() } } }
        }
        try result.get()
    }

    /// Removes what is kept for a limited time only. Call it now and then; skipping it costs disk space and nothing else.
    package func prune(now: WallTime) throws(StoreError) {
        flush()
        guard let connection, health.refusal == nil else { return }
        do throws(SQLiteError) {
            try connection.transaction { () throws(SQLiteError) in
                do throws(StoreWriteError) { try connection.writer.trimReceipts(now: now) } catch {
                    if case .sqlite(let error) = error { throw error }
                }
            }
        } catch {
            if error.isDamage { stopSaving(.damaged(Self.refusal(after: error)), because: error) }
            throw storeError(error)
        }
    }

    private func flush() {
        let group = waiting
        waiting = []
        guard !group.isEmpty else { return }
        let results = write(group.map(\.writes))
        for (commit, result) in zip(group, results) { commit.done.resume(returning: result) }
    }

    /// One result per commit. They stand or fall together with the disk, and each alone with its own contradictions and with the
    /// damaged pages that it needs.
    private func write(_ group: [[StoreWrite]]) -> [Result<Void, StoreError>] {
        guard let connection else { return group.map { _ in .failure(.closed) } }
        if let refusal = health.refusal { return group.map { _ in .failure(refusal) } }
        do throws(SQLiteError) {
            return try transact(group, on: connection)
        } catch  where error.isDamage {
            return writeApart(group, on: connection, because: error)
        } catch {
            let failure = settle(error, on: connection)
            switch failure {
            case .notSaved, .inDoubt: stopSaving(.failing(failure), because: error)
            case .damaged, .newerSchema, .locked, .readOnly, .unusable, .contradiction, .closed: break
            }
            return group.map { _ in .failure(failure) }
        }
    }

    private func transact(
        _ group: [[StoreWrite]], on connection: Connection
    ) throws(SQLiteError) -> [Result<Void, StoreError>] {
        try place?.check()
        var results: [Result<Void, StoreError>] = []
        try connection.transaction { () throws(SQLiteError) in
            for writes in group { results.append(try apply(writes, on: connection)) }
        }
        return results
    }

    /// Each commit alone: who needs the damaged page gets `damaged`, the others are innocent. They are the last; from then on all
    /// are refused, but as not saved, which ends nobody's work.
    private func writeApart(
        _ group: [[StoreWrite]], on connection: Connection, because damage: SQLiteError
    ) -> [Result<Void, StoreError>] {
        var refusal = Self.refusal(after: damage)
        var diskFailed = false
        let results = group.map { writes -> Result<Void, StoreError> in
            guard !diskFailed else { return .failure(refusal) }
            do throws(SQLiteError) {
                return try transact([writes], on: connection)[0]
            } catch {
                let failure = settle(error, on: connection)
                if !error.isDamage { (refusal, diskFailed) = (failure, true) }
                return .failure(failure)
            }
        }
        stopSaving(.damaged(refusal), because: damage)
        return results
    }

    static func refusal(after damage: SQLiteError) -> StoreError {
        .notSaved(reason: "the database is damaged (\(damage.message)); the next start of the daemon repairs it")
    }

    /// What a failed transaction is answered with. Where a crash might bring it back, another one is tried at once: it stands in
    /// the log where the failed one stood, so that no start finds that any more.
    private func settle(_ error: SQLiteError, on connection: Connection) -> StoreError {
        let failure = storeError(error)
        guard case .inDoubt(let reason) = failure else { return failure }
        do throws(SQLiteError) { try Opening.tryToWrite(connection.database) } catch { return failure }
        return .notSaved(reason: reason)
    }

    private func apply(
        _ writes: [StoreWrite], on connection: Connection
    ) throws(SQLiteError) -> Result<Void, StoreError> {
        try connection.database.run("SAVEPOINT one")
        do throws(StoreWriteError) {
            try connection.writer.apply(writes)
        } catch {
            switch error {
            case .sqlite(let error):
                throw error
            case .contradiction(let what):
                connection.writer.forget()
                try connection.database.run("ROLLBACK TO one")
                try connection.database.run("RELEASE one")
                diagnostics.record(Diagnostic(.error, "store", "contradiction", what))
                return .failure(.contradiction(what))
            }
        }
        try connection.database.run("RELEASE one")
        return .success(())
    }

    // MARK: - For the chapters in other files

    /// Runs one question against the open database.
    func ask<Answer>(
        _ question: (StoreReader) throws(SQLiteError) -> Answer
    ) throws(StoreError) -> Answer {
        guard let connection else { throw .closed }
        do throws(SQLiteError) {
            return try question(connection.reader)
        } catch {
            if error.isDamage { owesCheck = true }
            throw storeError(error)
        }
    }

    /// An unclean end is not noted in the sessions' rows yet.
    var owesMarks: Bool { connection?.writer.owesMarks ?? false }

    private func storeError(_ error: SQLiteError) -> StoreError {
        Opening.storeError(error, path: path)
    }
}
