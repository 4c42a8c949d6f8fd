import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

@Suite("While nothing is being saved, over links", .timeLimit(.minutes(1)))
struct SavingFlowTests {
    private static let full = SavingState(isSaving: false, reason: "the disk is full")

    @Test("whoever connects is told after remote_ready, a stock peer in its own words; afterwards nobody is")
    func connecting() async throws {
        let devices = [DaemonBench.device(Pairing.phone), DaemonBench.device(Pairing.laptop)]
        try await DaemonBench.with(devices: devices) { bench in
            await bench.devices.set(Self.full)
            while await bench.daemon.saving.isSaving { await Task.yield() }
            let native = try await bench.connect(Pairing.laptop)
            try await native.enter()
            #expect(try await native.message() == .daemonState(Self.full.message))
            let stock = try await bench.connect(Pairing.phone, .stock)
            try await stock.enter()
            #expect(
                try await stock.message()
                    == .errorEvent(.init(message: "nothing is being saved: the disk is full")))
            await bench.devices.set(.saving)
            #expect(try await native.message() == .daemonState(SavingState.saving.message))
            let later = try await bench.connect(Pairing.laptop)
            try await later.enter()
            try await later.send(.ping)
            #expect(try await later.message() == .pong(.init(version: "0.2.0")))
        }
    }

    @Test("a daemon that starts on a full disk says so")
    func starting() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.laptop)], saving: Self.full) { bench in
            while await bench.daemon.saving.isSaving { await Task.yield() }
            #expect(bench.log.names.contains("not_saving"))
        }
    }
}
