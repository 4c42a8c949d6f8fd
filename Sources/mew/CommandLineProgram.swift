/// From words to an exit code: parse, run, and say what went wrong.
struct CommandLineProgram: Sendable {
    let commands: [Command]
    let environment: [String: String]
    let directory: String
    let runtime: Runtime
    var standard: any LineSink = DescriptorSink.standardOutput
    var errors: any LineSink = DescriptorSink.standardError
    var terminal: Terminal = .current()

    static let version = "0.1.0"

    func run(_ words: [String]) async -> ExitCode {
        // Asked of the raw words, because a mistake in parsing must be told as JSON too.
        let isJSON = words.prefix { $0 != "--" }.contains("--json")
        let output = Output(
            isJSON: isJSON, standard: standard, errors: errors, columns: terminal.isScreen ? terminal.columns : nil,
            errorColumns: terminal.errorColumns)
        do throws(CommandFailure) {
            return try await run(parse(words), output)
        } catch {
            return output.failure(error)
        }
    }

    private func parse(_ words: [String]) throws(CommandFailure) -> ArgumentParser.Parsed {
        do throws(UsageError) {
            return try ArgumentParser(commands: commands).parse(words)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func run(_ parsed: ArgumentParser.Parsed, _ output: Output) async throws(CommandFailure) -> ExitCode {
        switch parsed {
        case .version:
            output.version(Self.version)
            return .ok
        case .help(let path):
            output.standard.write(help(path) + "\n")
            return .ok
        case .run(let command, let arguments):
            let home = try stateDirectoryPath(
                option: arguments[GlobalOptions.home], environment: environment, directory: directory)
            let context = CommandContext(home: home, output: output, terminal: terminal, runtime: runtime)
            return try await command.run(Invocation(arguments: arguments, context: context))
        }
    }

    private func help(_ path: [String]) -> String {
        if let command = commands.first(where: { $0.path == path }) { return HelpText.of(command) }
        return HelpText.overview(of: commands, under: path)
    }
}
