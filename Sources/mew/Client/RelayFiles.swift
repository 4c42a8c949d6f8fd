import MewClient
import MewLoop
import MewNode
import MewRelay
import MewWire

// The one part of relays' credentials that lives in files.

extension RelayUse {
    /// The authorities, as TLS takes them. Each file is read, and each text is taken apart, once, and not at all where an earlier
    /// rule decides. A file that cannot be used stops the command; a text that was remembered costs its relay only, which one can
    /// then be told to give a new one for.
    func loadTrust() throws(CommandFailure) -> RelayTrust {
        var loaded: [Authorities: RelayTrust.Belief] = [:]
        func load(_ authorities: Authorities) throws(CommandFailure) -> RelayTrust.Belief {
            if let belief = loaded[authorities] { return belief }
            let belief: RelayTrust.Belief =
                switch authorities {
                case .file(let path): .success(try Self.trust(path))
                case .text(let pem): Self.remembered(pem)
                }
            loaded[authorities] = belief
            return belief
        }
        var result = RelayTrust()
        for rule in authorities {
            for relay in rule.relays where result.own(of: relay) == nil { result.add(try load(rule.value), for: relay) }
        }
        if let generalAuthorities { result.general = try load(generalAuthorities) }
        return result
    }

    /// The text of `--relay-trust`, for remembering it with a daemon; with a warning when it is too large for that.
    ///
    /// - Parameter loaded: by this very command.
    func givenAuthorities(_ loaded: RelayTrust, _ output: Output) -> String? {
        guard let file = given.trust, let relay = (relays + given.payload).first,
            case .success(let trust)? = loaded.own(of: relay), case let pem = trust.authorities
        else { return nil }
        if pem.count <= RelayAccess.maxTrustBytes, let text = String(validating: pem, as: UTF8.self) { return text }
        output.warning(
            "\(file) is no text of up to \(RelayAccess.maxTrustBytes) bytes and is not remembered; name it in config.json: "
                + "{\"relay_trust\": …}.")
        return nil
    }

    static func trust(_ path: String) throws(CommandFailure) -> TLSTrust {
        do throws(TLSFailure) {
            return try TLSTrust(authoritiesFile: path)
        } catch {
            throw CommandFailure(
                .badInput, "cannot believe relays by \(path): \(error)", hint: "Give a PEM file of certificates.")
        }
    }

    private static func remembered(_ pem: String) -> RelayTrust.Belief {
        do throws(TLSFailure) {
            return .success(try TLSTrust(authorities: Array(pem.utf8), called: "what was remembered for it"))
        } catch {
            return .failure(.certificate("\(error)"))
        }
    }
}

extension ConfigurationFile {
    /// What `config.json` says, its paths made absolute; nothing when there is none.
    static func read(in directory: PrivateDirectory) throws(CommandFailure) -> ConfigurationFile {
        let name = StateDirectory.Name.configuration
        let path = directory.file(name)
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try directory.read(name, maxBytes: ConfigurationFile.maxBytes)
        } catch {
            throw CommandFailure(.badInput, "cannot read \(path): \(error.words)", hint: Self.hint(error))
        }
        guard let bytes else { return ConfigurationFile() }
        do throws(Malformed) {
            var file = try ConfigurationFile(bytes)
            file.relayTrust = file.relayTrust.map { $0.hasPrefix("/") ? $0 : directory.file($0) }
            return file
        } catch {
            throw CommandFailure(.badInput, "cannot use \(path): \(error)", hint: hint(error))
        }
    }

    private static func hint(_ error: SystemError) -> String {
        error.kind == .permissionDenied ? "Check its permissions." : "Correct it, or move it away."
    }

    private static func hint(_ error: Malformed) -> String {
        guard let key = error.unknownKey else { return "Correct it, or move it away." }
        let near = nearestMatch(to: key, among: keys)
        return near.map { "Did you mean \"\($0)\"?" } ?? "Its keys are \(keys.joined(separator: ", "))."
    }
}
