import MewClient
import MewWire

// `mew prompt --take-over`: for the time of the command only this device types in the session.

extension DaemonSession {
    /// Runs `body` while this device alone may type in the session, and lets others type again afterwards, unless another program
    /// of this device typed there before.
    func takingOver<Value>(
        _ id: SessionID, _ body: () async throws(CommandFailure) -> Value
    ) async throws(CommandFailure) -> Value {
        let before = await supervisor.lease(of: id).holder
        try await attempt("take over the session") { () async throws(ClientError) in
            try await supervisor.takeOver(id)
        }
        if let before, !before.isOurs {
            var names = ownName
            output.note("(took over from \(names.name(of: before.by)))")
        }
        let result: Result<Value, CommandFailure>
        do throws(CommandFailure) {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        if before?.isOurs != true { await giveBack(id) }
        return try result.get()
    }

    /// What fails here ends by itself, 30 s after this command.
    private func giveBack(_ id: SessionID) async {
        do throws(ClientError) {
            try await supervisor.releaseLease(of: id)
        } catch {
            // Somebody took it over from us: it is theirs.
            guard error.code != .leaseHeld else { return }
            output.note("(others may type there again in 30 s: \(error.message))")
        }
    }
}
