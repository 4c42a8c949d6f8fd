import MewBase
import MewClient
import MewLoop
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

// Topology: a desk with the whole daemon, a laptop and a phone with the client library, in virtual time. Law (spec/native-wire.md §2,
// `lease`): one device types, the others are refused by its name and hear of every change; it ends by release, by take-over, or 30 s
// after the holder's last channel.

@Suite("Leases of two devices on the simulated network")
struct SimulatedLeaseTests {
    private final class Desk {
        let world: SimWorld
        let laptop: SimulatedDevice
        let phone: SimulatedDevice
        let daemon: SimulatedDaemon
        let machine: SimNode
        let session: SessionID

        init(_ world: SimWorld, in scratch: ScratchDirectory) throws {
            self.world = world
            let machine = world.addNode("desk")
            let lent = Lent(machine)
            let agent = ScriptedAgent([])
            let daemon = try world.run(on: machine) {
                try await SimulatedDaemon.start(on: lent.value, in: scratch, agent)
            }
            (self.machine, self.daemon) = (machine, daemon)
            let laptop = try Self.pair("laptop", 7, world, machine, daemon)
            (self.laptop, phone) = (laptop, try Self.pair("phone", 8, world, machine, daemon))
            session = try world.run(on: laptop.machine) { try await laptop.supervisor.newSession(cwd: nil) }
            let (phone, session) = (phone, session)
            try world.run(on: phone.machine) { try await phone.supervisor.attach(session) }
        }

        private static func pair(
            _ name: String, _ seed: UInt8, _ world: SimWorld, _ desk: SimNode, _ daemon: SimulatedDaemon
        ) throws -> SimulatedDevice {
            let token = PairingToken(entropy: desk.entropy)
            try world.run(on: desk) {
                _ = try await daemon.daemon.openWindow(
                    .init(scope: .control, codeDigest: token.digest, expected: nil, canConfirm: false, seconds: 600))
            }
            let machine = Lent(world.addNode(name))
            return try world.run(on: machine.value) {
                try await SimulatedDevice.start(on: machine.value, name, seed: seed, daemon.target, token)
            }
        }

        /// A device asks the daemon for something, and gets it, or is told why not.
        func ask(
            _ device: SimulatedDevice, refused wanted: String? = nil, at place: SourceLocation = #_sourceLocation,
            _ body: @escaping @Sendable (DaemonSupervisor, SessionID) async throws -> Void
        ) throws {
            let session = session
            let why = try world.run(on: device.machine) { () async -> String? in
                do {
                    try await body(device.supervisor, session)
                    return nil
                } catch {
                    return "\(error)"
                }
            }
            #expect(why == wanted, sourceLocation: place)
            // Until the other device has heard of it.
            try world.run(for: .seconds(1))
        }

        /// A device sends a prompt, which is taken or refused.
        func prompt(
            _ device: SimulatedDevice, refused wanted: String? = nil, at place: SourceLocation = #_sourceLocation
        ) throws {
            let session = session
            let why = try world.run(on: device.machine) { try await device.refusal(of: "hi", in: session) }
            #expect(why == wanted, sourceLocation: place)
        }

        /// Who types, as far as each device knows: itself, another one, nobody.
        func expect(
            laptop wantedThere: String, phone wantedHere: String, at place: SourceLocation = #_sourceLocation
        ) throws {
            #expect(try typist(at: laptop) == wantedThere, sourceLocation: place)
            #expect(try typist(at: phone) == wantedHere, sourceLocation: place)
        }

        private func typist(at device: SimulatedDevice) throws -> String {
            let session = session
            let lease = try world.run(on: device.machine) { await device.lease(of: session) }
            switch lease {
            case .unknown: return "unknown"
            case .free: return "nobody"
            case .held(let holder): return holder.isOurs ? "itself" : holder.by.name
            }
        }

        func stop() throws {
            let daemon = daemon
            for device in [laptop, phone] { try world.run(on: device.machine) { await device.stop() } }
            try world.run(on: machine) { await daemon.stop() }
        }
    }

    private func with(_ body: (Desk) throws -> Void) throws {
        let scratch = ScratchDirectory()
        try withSimWorld(seed: 3) { world in
            let desk = try Desk(world, in: scratch)
            try body(desk)
            try desk.stop()
        }
    }

    private static let laptopTypes = "lease_held: laptop is typing"

    @Test("taken, held, taken over, given back: the other device is refused by name, and each hears of every change")
    func handedOn() throws {
        try with { desk in
            try desk.expect(laptop: "nobody", phone: "nobody")
            try desk.ask(desk.laptop) { try await $0.takeLease(of: $1) }
            try desk.expect(laptop: "itself", phone: "laptop")
            try desk.prompt(desk.phone, refused: Self.laptopTypes)
            try desk.ask(desk.phone, refused: Self.laptopTypes) { try await $0.takeLease(of: $1) }
            try desk.ask(desk.phone, refused: Self.laptopTypes) { try await $0.releaseLease(of: $1) }
            try desk.prompt(desk.laptop)

            try desk.ask(desk.phone) { try await $0.takeOver($1) }
            try desk.expect(laptop: "phone", phone: "itself")
            try desk.prompt(desk.laptop, refused: "lease_held: phone is typing")
            try desk.prompt(desk.phone)

            try desk.ask(desk.phone) { try await $0.releaseLease(of: $1) }
            try desk.expect(laptop: "nobody", phone: "nobody")
            try desk.prompt(desk.laptop)
        }
    }

    @Test("30 s after the holder's last channel everybody may type; whoever returns before keeps it")
    func away() throws {
        try with { desk in
            try desk.ask(desk.laptop) { try await $0.takeLease(of: $1) }
            try desk.ask(desk.laptop) { await $0.detach($1) }
            try desk.world.run(for: .seconds(27))
            try desk.ask(desk.laptop) { try await $0.attach($1) }
            try desk.world.run(for: .seconds(60))
            try desk.expect(laptop: "itself", phone: "laptop")

            try desk.ask(desk.laptop) { await $0.detach($1) }
            try desk.world.run(for: .seconds(28))
            try desk.expect(laptop: "unknown", phone: "laptop")
            try desk.prompt(desk.phone, refused: Self.laptopTypes)
            try desk.world.run(for: .seconds(2))
            try desk.expect(laptop: "unknown", phone: "nobody")
            try desk.prompt(desk.phone)
        }
    }

    @Test("over a lost link nobody is said to type until the daemon says it again; a reconnect takes nothing over")
    func reconnect() throws {
        try with { desk in
            try desk.ask(desk.laptop) { try await $0.takeLease(of: $1) }
            desk.world.changeLinks(between: desk.phone.machine, and: desk.machine) { $0.isDown = true }
            try desk.world.run(for: .seconds(90))
            try desk.expect(laptop: "itself", phone: "unknown")
            desk.world.changeLinks(between: desk.phone.machine, and: desk.machine) { $0.isDown = false }
            try desk.world.run(for: .seconds(60))
            try desk.expect(laptop: "itself", phone: "laptop")
        }
    }
}
