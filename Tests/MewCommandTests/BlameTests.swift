import MewBase
import MewClient
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import mew

/// Reaches nobody, and tries what a node tries: the routes of the target, then the relays that are known.
private struct VainDialer: Dialer {
    let node: NodeID
    let known: [String]
    /// What is wrong with which relay; the daemon is behind none of the others.
    let troubles: [String: DialError.RelayFailure]

    func dial(_ target: DialTarget) async throws(DialError) -> any Link {
        let addresses = target.addresses.map { DialError.Attempt(route: .direct($0), outcome: "no answer in 10 s") }
        let relays = (target.relays + known.filter { !target.relays.contains($0) }).map { url in
            DialError.Attempt(
                route: .relay(url: url), outcome: troubles[url].map { "it is \($0)" } ?? "the node is not there",
                relayFailure: troubles[url])
        }
        throw .unreachable(addresses + relays)
    }
}

/// Two daemons are known, and none is reached. What is wrong with the relay of one says nothing about the other.
@Suite("Which relay is to blame")
struct BlameTests {
    private let own = "https://own.test/"
    private let other = "https://other.test/"
    private let desk = SecretKey.generate(entropy: SystemEntropy()).node
    private let laptop = SecretKey.generate(entropy: SystemEntropy()).node

    /// - Parameter relays: of desk; laptop is at `other`.
    private func stage(
        desk relays: [String], _ troubles: [String: DialError.RelayFailure]
    ) async throws -> CommandStage {
        let stage = CommandStage { options in
            VainDialer(
                node: options.key.node, known: options.knownRelays.map(\.description), troubles: troubles)
        }
        let loop = try BlockingLoop(name: "store")
        defer { loop.stop() }
        let store = FileClientStore(directory: try PrivateDirectory(creating: stage.home.path), loop: loop)
        let daemons = [
            DaemonRecord(
                node: desk, name: "desk", addresses: [.loopback(port: 1)], relays: relays, addedAt: .now),
            DaemonRecord(node: laptop, name: "laptop", relays: [other], addedAt: .now),
        ]
        try await store.update { records in
            for daemon in daemons { _ = try? records.registry.add(daemon) }
        }
        return stage
    }

    @Test("a daemon without a relay that does not answer is unreachable, whatever another's relay refuses")
    func stopped() async throws {
        let stage = try await stage(desk: [], [other: .notAdmitted])
        let result = try await stage.run("sessions", "desk")
        #expect(result.exit == .unreachable, "\(result.err.text)")
        #expect(result.err.text.contains("\(other): it is notAdmitted"), "it is listed: \(result.err.text)")
        #expect(result.err.text.contains("Check that 'mew daemon' runs there"), "\(result.err.text)")
        let there = try await stage.run("sessions", "laptop")
        #expect(there.exit == .unauthorized, "\(there.err.text)")
    }

    @Test("a relay that the command or config.json names decides for every daemon")
    func named() async throws {
        let stage = try await stage(desk: [], [other: .notAdmitted])
        let result = try await stage.run("sessions", "desk", "--relay", other)
        #expect(result.exit == .unauthorized, "\(result.err.text)")
        stage.home.file("config.json", "{\"relays\": [\"\(other)\"]}")
        let configured = try await stage.run("sessions", "desk")
        #expect(configured.exit == .unauthorized, "\(configured.err.text)")
    }

    @Test("'mew add' tells what is wrong with the relay of the payload, not with another's", arguments: [true, false])
    func add(isKnown: Bool) async throws {
        let stage = try await stage(desk: [own], [own: .notBelieved, other: .notAdmitted])
        let node = isKnown ? desk : SecretKey.generate(entropy: SystemEntropy()).node
        let payload = PairingPayload(
            node: node, name: "new", token: PairingToken(entropy: SystemEntropy()), relays: [own], addresses: [])
        let result = try await stage.run("add", payload.text)
        #expect(result.exit == .unreachable, "\(result.err.text)")
        #expect(result.err.text.contains("--relay-trust FILE"), "\(result.err.text)")
        #expect(!result.err.text.contains("--relay-token"), "\(result.err.text)")
    }

    @Test("'mew ls' says of a daemon whose own relay is up that it is unreachable, and of the other that its relay is")
    func list() async throws {
        let stage = try await stage(desk: [own], [other: .outOfReach])
        let result = try await stage.run("ls", "--json")
        let reasons = result.objects.map { $0["reason"]?.asString }
        #expect(reasons == ["unreachable", "relay unreachable"], "\(result.out.text)")
    }
}
