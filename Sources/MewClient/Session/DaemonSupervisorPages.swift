internal import MewBase
public import MewWire

// Older pages of a session's messages.

extension DaemonSupervisor {
    /// Puts the page before the first message that is shown into the transcript; false when the start is here already.
    public func loadOlder(in id: SessionID) async throws(ClientError) -> Bool {
        guard let session = view.attached[id], let before = session.historyCursor else { return false }
        _ = try await olderPage(in: id, before: before, of: session.historyID)
        return true
    }

    /// One page of an attached session. One at a time: they are large, and whoever is first asks again while the daemon has no
    /// room for it; the others wait behind it instead of asking, too.
    ///
    /// - Parameters:
    ///   - before: where it ends: what an earlier page named.
    ///   - list: the list that `before` counts in. When it is gone, the newest page of another one comes, with `replaces`.
    /// - Throws: `busy` when there was no room for too long.
    public func olderPage(
        in id: SessionID, before: UInt64, of list: HistoryID?
    ) async throws(ClientError) -> DaemonMessage.SessionHistoryPage {
        let message = ClientMessage.LoadSessionHistory(sessionID: id, before: before, historyID: list)
        guard await pageLine.send(()) else { throw ClientError(.busy, "nobody waits for the page any more") }
        let result = await page(message)
        _ = await pageLine.next()
        return try result.get()
    }

    private func page(
        _ message: ClientMessage.LoadSessionHistory
    ) async -> Result<DaemonMessage.SessionHistoryPage, ClientError> {
        var patience = PagePatience()
        while true {
            do throws(ClientError) {
                return .success(try await ask(message))
            } catch {
                guard error.code == .busy, let wait = patience.refused() else { return .failure(error) }
                // Cancelled: nobody wants it any more.
                guard (try? await environment.clock.sleep(for: wait)) != nil else { return .failure(error) }
            }
        }
    }

    private func ask(
        _ message: ClientMessage.LoadSessionHistory
    ) async throws(ClientError) -> DaemonMessage.SessionHistoryPage {
        try await request(.loadSessionHistory(message), on: message.sessionID) { message in
            if case .sessionHistoryPage(let page) = message { page } else { nil }
        }
    }
}
