import MewHost
import MewWire

extension Daemon {
    /// `list_dir`: works for any session, attached or not (spec/mew-wire.md §4.12).
    nonisolated func listDirectory(_ request: ClientMessage.ListDir, ref: String?, for client: SessionClient) async {
        guard let workspace = await sessions.workspace(of: request.sessionID) else {
            return client.reply(.error(.init(message: "list_dir: session not found", code: .unknownSession)), ref: ref)
        }
        do throws(WorkspaceError) {
            let listing = try await surroundings.files.list(request.path, cwd: workspace.cwd ?? surroundings.home)
            client.reply(
                .dirListing(
                    .init(sessionID: request.sessionID, path: listing.path, entries: listing.entries)
                ),
                ref: ref)
            guard listing.isCut else { return }
            let sentence = "list_dir: the directory holds more than is shown (\(listing.entries.count) entries)"
            client.reply(.error(.init(message: sentence, code: .tooLarge)), ref: ref)
        } catch {
            client.reply(.error(.init(message: "list_dir: \(error)", code: .badInput)), ref: ref)
        }
    }
}
