import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// Where a scene is played: one daemon after the other in one state directory, and three devices that come back to them.
///
/// Touched by the task of its test only.
final class KillStage {
    let place: KillPlace
    let devices: [KillDevice]
    private var daemon: DaemonProcess?
    private var program = DaemonProcess.Program.daemon

    init() async throws {
        let place = try await KillPlace()
        self.place = place
        devices = (0..<KillPlace.deviceCount).map { KillDevice($0, place) }
    }

    var laptop: KillDevice { devices[0] }
    /// Nil until somebody was shown one.
    var session: SessionID? { devices.lazy.compactMap(\.session).first }

    // MARK: - Lives

    func start(until sight: DaemonProcess.Sight = .ready) async throws {
        daemon = try await place.start(program, until: sight)
    }

    /// `kill -9`, whatever is connected.
    func kill() async {
        await daemon?.kill()
        daemon = nil
        await disconnect()
    }

    /// As a service manager would.
    func terminate() async -> Int32? {
        let status = await daemon?.terminate()
        daemon = nil
        await disconnect()
        return status
    }

    private func disconnect() async {
        for device in devices { await device.disconnect() }
    }

    // MARK: - How scenes begin

    /// The laptop is connected and asks for a session.
    func open() async throws -> KillDevice {
        try await start()
        try await laptop.connect()
        try await laptop.ask(.newSession(.init(clientKind: .cli)))
        return laptop
    }

    /// It has one.
    func begin() async throws -> KillDevice {
        let laptop = try await open()
        try await laptop.hear(.caughtUp)
        return laptop
    }

    /// The same with the agent that asks and tells what it is told to.
    func beginTalking() async throws -> KillDevice {
        program = .bench
        try await start()
        try await laptop.connect()
        try await laptop.ask(.newSession(.init(clientKind: .cli, agent: "bench")))
        try await laptop.hear(.caughtUp)
        return laptop
    }

    /// All three hear that one.
    func gatherTalking() async throws -> [KillDevice] { try await gather(in: try await beginTalking()) }

    /// A command that does not end by itself has begun to tell something.
    func stream() async throws -> KillDevice {
        let laptop = try await begin()
        try await laptop.prompt("echo begun; sleep 600")
        try await laptop.answerNext()
        try await laptop.hear(.toolProgress)
        return laptop
    }

    /// The daemon was killed over that.
    func crash() async throws {
        _ = try await stream()
        await kill()
    }

    /// The crashed daemon is there again, and the laptop has asked for its session.
    func comeBackToCrash() async throws -> KillDevice {
        try await crash()
        try await start()
        try await laptop.connect()
        try await laptop.attach(try #require(session))
        return laptop
    }

    /// All three hear the laptop's session.
    func gather() async throws -> [KillDevice] {
        try await gather(in: try await begin())
    }

    private func gather(in first: KillDevice) async throws -> [KillDevice] {
        let session = try #require(first.session)
        for device in devices.dropFirst() {
            try await device.connect()
            try await device.attach(session)
            try await device.hear(.caughtUp)
        }
        return devices
    }

    // MARK: - How they end

    /// Whether anybody wanted the session deleted.
    var isDeleted: Bool {
        devices.contains { $0.asked.contains { if case .deleteSession = $0.message { true } else { false } } }
    }

    var isCleared: Bool {
        devices.contains { $0.asked.contains { if case .slashCommand = $0.message { true } else { false } } }
    }

    /// Every device that asked something asks it again, and hears how it ended; who only heard the session hears it again.
    func comeBack() async throws {
        try await start()
        let (session, isDeleted) = (session, isDeleted)
        for device in devices where device === laptop || !device.asked.isEmpty || device.session != nil {
            if isDeleted {
                try await device.comeBackToDelete()
            } else {
                try await device.comeBack(to: session)
            }
        }
    }
}
