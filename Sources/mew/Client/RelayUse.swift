import MewLoop
import MewNode
import MewRelay
import MewWire

/// Which relays this invocation uses and how, from the command line and from `config.json`; the command line wins.
struct RelayUse: Sendable {
    var relays: [RelayURL]
    var token: String?
    var trust: TLSTrust?

    /// - Parameters:
    ///   - relays: the values of the command's own `--relay`.
    ///   - token: of `--relay-token`.
    ///   - trust: of `--relay-trust`.
    init(
        relays: [RelayURL], token: String?, trust: String?, in context: CommandContext
    ) throws(CommandFailure) {
        let directory = try context.stateDirectory().files
        let file = try Self.configuration(in: directory)
        self.relays = relays.isEmpty ? file.relays : relays
        self.token = token ?? file.relayToken
        // Which relays want it, nobody else shall say: a peer that names one would be shown it.
        guard self.token == nil || !self.relays.isEmpty else {
            throw CommandFailure(
                .badInput, "there is no relay that the token for relays is for",
                hint: "Name the relay with --relay URL, or in config.json.")
        }
        let authorities = trust ?? file.relayTrust.map { $0.hasPrefix("/") ? $0 : directory.file($0) }
        self.trust = try authorities.map(Self.trust)
    }

    private static func configuration(in directory: PrivateDirectory) throws(CommandFailure) -> ConfigurationFile {
        let name = StateDirectory.Name.configuration
        let path = directory.file(name)
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try directory.read(name, maxBytes: ConfigurationFile.maxBytes)
        } catch {
            throw CommandFailure(.badInput, "cannot read \(path): \(error.words)", hint: "Check its permissions.")
        }
        guard let bytes else { return ConfigurationFile() }
        do throws(ConfigurationFile.Malformed) {
            return try ConfigurationFile(bytes)
        } catch {
            throw CommandFailure(.badInput, "cannot use \(path): \(error)", hint: hint(error))
        }
    }

    private static func hint(_ error: ConfigurationFile.Malformed) -> String {
        guard let key = error.unknownKey else { return "Correct it, or move it away." }
        let near = nearestMatch(to: key, among: ConfigurationFile.keys)
        return near.map { "Did you mean \"\($0)\"?" }
            ?? "Its keys are \(ConfigurationFile.keys.joined(separator: ", "))."
    }

    static func trust(_ path: String) throws(CommandFailure) -> TLSTrust {
        do throws(TLSFailure) {
            return try TLSTrust(authoritiesFile: path)
        } catch {
            throw CommandFailure(
                .badInput, "cannot believe relays by \(path): \(error)", hint: "Give a PEM file of certificates.")
        }
    }
}
