import MewBase
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewDaemon

@Suite("Revocation", .timeLimit(.minutes(1)))
struct RevocationTests {
    private static let reason = "revoked at 2025-09-10 10:26 UTC; pair this device again to use it"
    private static let rows = [DaemonBench.device(Pairing.phone), DaemonBench.device(Pairing.laptop)]

    @Test("every live connection of the key is told and closed; nobody else notices")
    func closesAll() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            let first = try await bench.connect(Pairing.phone)
            try await first.enter()
            let second = try await bench.connect(Pairing.phone)
            try await second.enter()
            let stock = try await bench.connect(Pairing.phone, .stock)
            try await stock.hello()
            _ = try await stock.message()
            let other = try await bench.connect(Pairing.laptop)
            try await other.enter()
            #expect(try await bench.daemon.revoke(Pairing.phone) == 3)
            for channel in [first, second] {
                guard case .revoked(let revoked)? = try await channel.message() else { return fail("not told") }
                #expect(revoked.reason == Self.reason)
                #expect(await channel.link.closed() == .peer(.revoked, reason: Self.reason))
            }
            #expect(await stock.link.closed() == .peer(.unauthorized, reason: Self.reason))
            try await other.send(.ping)
            #expect(try await other.message() == .pong(.init(version: "0.2.0")))
        }
    }

    @Test("a device that is revoked while its turn runs is told that this goes on")
    func whileItsTurnRuns() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            let phone = try await bench.connect(Pairing.phone)
            try await phone.enter()
            bench.sessions.worksFor.withLock { $0 = Pairing.phone }
            _ = try await bench.daemon.revoke(Pairing.phone)
            let reason =
                "revoked at 2025-09-10 10:26 UTC; the turn that it began goes on; pair this device again to use it"
            guard case .revoked(let revoked)? = try await phone.message() else { return fail("not told") }
            #expect(revoked.reason == reason)
            #expect(await phone.link.closed() == .peer(.revoked, reason: reason))
        }
    }

    @Test("revoking all shuts every device out before what one of them left is looked for")
    func all() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            let phone = try await bench.connect(Pairing.phone)
            try await phone.enter()
            let laptop = try await bench.connect(Pairing.laptop)
            try await laptop.enter()
            bench.sessions.whenDropping { [daemon = bench.daemon] in
                await daemon.peers().allSatisfy { $0.revokedAtMs != nil }
            }
            #expect(try await bench.daemon.revokeAll() == 2)
            #expect(bench.sessions.droppedAfterAll == [true, true])
        }
    }

    @Test("a device is not paired again as long as what it left cannot be dropped")
    func stuck() async throws {
        try await DaemonBench.with { bench in
            let old = try await bench.window()
            let phone = try await bench.connect(Pairing.phone, .stock)
            try await phone.hello(token: old.token.revealed)
            _ = try await phone.message()
            await bench.daemon.closeWindow(old.number)
            bench.sessions.isStuck.withLock { $0 = true }
            _ = try await bench.daemon.revoke(Pairing.phone)
            _ = await phone.link.closed()
            let again = try await bench.window()
            let refused = try await bench.connect(Pairing.phone, .stock)
            try await refused.hello(token: again.token.revealed)
            _ = await refused.link.closed()
            #expect(await bench.daemon.peers().first { $0.node == Pairing.phone }?.revokedAtMs != nil)
        }
    }

    @Test("a revoked key is closed with its reason at the next dial, and survives a restart revoked")
    func staysRevoked() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            _ = try await bench.daemon.revoke(Pairing.phone)
            let native = try await bench.dial(Pairing.phone)
            #expect(await native.link.closed() == .peer(.revoked, reason: Self.reason))
            let stock = try await bench.dial(Pairing.phone, .stock)
            #expect(await stock.link.closed() == .peer(.unauthorized, reason: Self.reason))
            try await bench.daemon.load()
            #expect(await bench.daemon.peers().first { $0.node == Pairing.phone }?.revokedAtMs != nil)
        }
    }

    @Test("a spent code does not let a revoked phone in; a new window does")
    func pairsAgain() async throws {
        try await DaemonBench.with { bench in
            let old = try await bench.window()
            let phone = try await bench.connect(Pairing.phone, .stock)
            try await phone.hello(token: old.token.revealed)
            _ = try await phone.message()
            await bench.daemon.closeWindow(old.number)
            _ = try await bench.daemon.revoke(Pairing.phone)
            _ = await phone.link.closed()
            #expect(bench.sessions.revoked == [Pairing.phone])
            #expect(bench.sessions.dropped == [Pairing.phone])
            let again = try await bench.window(scope: .observe)
            let refused = try await bench.connect(Pairing.phone, .stock)
            try await refused.hello(token: old.token.revealed)
            #expect(await refused.link.closed() == .peer(.unauthorized, reason: "unauthorized"))
            let welcome = try await bench.connect(Pairing.phone, .stock)
            try await welcome.hello(token: again.token.revealed)
            #expect(try await welcome.message() == .remoteReady(.init(scope: .observe)))
            #expect(bench.sessions.revoked == [])
            // Once more, before the row of the new pairing.
            #expect(bench.sessions.dropped == [Pairing.phone, Pairing.phone])
        }
    }

    @Test("a rename that runs beside a revocation cannot undo it")
    func concurrentChanges() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            await withDiscardingTaskGroup { group in
                for number in 0..<50 {
                    group.addTask { try? await bench.daemon.rename(Pairing.phone, to: "name \(number)") }
                }
                group.addTask { _ = try? await bench.daemon.revoke(Pairing.phone) }
                for number in 50..<100 {
                    group.addTask { try? await bench.daemon.rename(Pairing.phone, to: "name \(number)") }
                }
            }
            #expect(await bench.daemon.peers().first { $0.node == Pairing.phone }?.revokedAtMs != nil)
        }
    }

    @Test("when the revocation cannot be saved nothing changes and the operator is told")
    func diskFull() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            await bench.devices.fail("the disk is full")
            await #expect {
                _ = try await bench.daemon.revoke(Pairing.phone)
            } throws: { ($0 as? ControlError)?.code == "not_saved" }
            let phone = try await bench.connect(Pairing.phone)
            try await phone.enter()
        }
    }
}
