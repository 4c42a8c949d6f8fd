/// Every command, in the order the overview shows them.
enum CommandList {
    static let all: [Command] = [] + Command.benches
}
