/// Every command, in the order the overview shows them.
enum CommandList {
    static let all: [Command] =
        [
            .daemon, .pair, .add, .ls, .forget, .rename, .sessions, .projects, .agents, .models, .new, .sessionRename,
            .sessionPin, .sessionArchive, .sessionDelete, .set, .prompt, .watch, .history, .answer, .cancel, .ops,
            .peers, .peersList, .peersRename, .peersRevoke, .peersScope, .status, .ping, .net, .id, .relay,
        ] + Command.benches + Command.benchClients
}
