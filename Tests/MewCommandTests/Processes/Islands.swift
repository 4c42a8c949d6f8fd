import Glibc
import MewLoop
import MewTestSupport
import Testing

@testable import mew

/// Two network namespaces that reach the one in the middle and not each other (unshare(1), ip(8)): what runs on them has nothing
/// but a relay. They go with the last process in there.
///
///     one 10.78.1.2 ── 10.78.1.1  middle 10.78.0.1  10.78.2.1 ── 10.78.2.2 other
final class Islands: Sendable {
    /// The address of the middle to which both have a route.
    static let middleHost = "10.78.0.1"

    /// What starts a program there.
    let middle: [String]
    let one: [String]
    let other: [String]
    private let keepers: [RealProcess]
    /// While it is open the keepers wait, so that they end even when this process is killed.
    private let life: Pipe

    init() async throws {
        let life = try Pipe()
        // Whoever is not root is root in a user namespace of its own.
        let isRoot = geteuid() == 0
        func keep(_ start: [String]) async throws -> (RealProcess, [String]) {
            let keeper = try RealProcess(
                start + ["sh", "-c", "ip link set lo up && echo up && exec cat"], input: life.reader.number)
            try #require(await keeper.out.line(containing: "up") != nil, "\(keeper.err.text)")
            let user = isRoot ? [] : ["-U", "--preserve-credentials"]
            return (keeper, ["nsenter", "-t", "\(keeper.number)", "-n"] + user)
        }
        let (middleKeeper, inMiddle) = try await keep(["unshare", isRoot ? "-n" : "-rn"])
        let (oneKeeper, inOne) = try await keep(inMiddle + ["unshare", "-n"])
        let (otherKeeper, inOther) = try await keep(inMiddle + ["unshare", "-n"])
        (self.life, middle, one, other) = (life, inMiddle, inOne, inOther)
        keepers = [middleKeeper, oneKeeper, otherKeeper]
        try await run("ip address add \(Self.middleHost)/32 dev lo", by: middle)
        for (number, keeper, island) in [(1, oneKeeper, one), (2, otherKeeper, other)] {
            try await run(
                """
                ip link add to\(number) type veth peer name up0 netns \(keeper.number)
                ip address add 10.78.\(number).1/24 dev to\(number)
                ip link set to\(number) up
                """, by: middle)
            try await run(
                """
                ip address add 10.78.\(number).2/24 dev up0
                ip link set up0 up
                ip route add \(Self.middleHost)/32 via 10.78.\(number).1
                """, by: island)
        }
    }

    /// Lines of shell there.
    ///
    /// - Returns: what they print.
    @discardableResult
    func run(_ lines: String, by prefix: [String]) async throws -> String {
        let shell = try RealProcess(prefix + ["bash", "-ec", lines])
        #expect(await shell.exit == 0, "\(lines): \(shell.err.text)")
        return shell.out.text
    }
}

extension Islands {
    /// Whether there can be any here, with rules for packets (nft(8)).
    static var arePermitted: Bool {
        get async {
            let start = ["unshare", geteuid() == 0 ? "-n" : "-rn", "nft", "list", "ruleset"]
            guard let trial = try? RealProcess(start) else { return false }
            return await trial.exit == 0
        }
    }

    /// From now on nothing that the middle sends arrives there; what is sent from there still leaves.
    func deafen(_ island: [String]) async throws {
        try await run(
            """
            nft add table inet deaf
            nft add chain inet deaf in '{ type filter hook input priority 0; }'
            nft add rule inet deaf in ip saddr \(Self.middleHost) drop
            """, by: island)
    }

    func cure(_ island: [String]) async throws {
        try await run("nft delete table inet deaf", by: island)
    }
}
