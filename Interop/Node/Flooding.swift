import MewBase
import MewIdentity
import MewLoop
import MewRelay
import MewWire

/// Two ends of a relay that is told to carry more than the line behind it does, without any congestion control.
struct Flooding {
    let url: RelayURL
    let loop: EventLoop
    let duration: Duration

    private static let packetSize = 1200
    /// With one burst every 10 ms, 52 Mbit/s.
    private static let burst = 54
    private static let pause: Duration = .milliseconds(10)
    private static let askEvery: Duration = .milliseconds(200)

    private func leg() -> RelayLeg {
        let entropy = SystemEntropy()
        let settings = RelayLeg.Settings(url: url, secret: SecretKey.generate(entropy: entropy))
        return RelayLeg(settings, connector: NetworkRelayConnector(on: loop), loop: loop, entropy: entropy)
    }

    /// Takes what comes, and asks the relay five times a second whether it is there; false when the relay was ever lost.
    func sink() async -> Bool {
        let leg = leg()
        await leg.start()
        guard await leg.connected() else { return false }
        let first = await leg.status.phase
        let count = Count()
        let carrier = RelayCarrier(leg)
        carrier.onReceive = { packets, _, _ in count.bytes += packets.count }
        report(["event": "ready", "node_id": .string(leg.settings.secret.node.hex)])
        let end = loop.now.advanced(by: duration)
        while loop.now < end, await leg.status.phase == first {
            await leg.ask()
            guard await LoopClock(loop).pause(for: Self.askEvery) == .over else { break }
        }
        let isKept = await leg.status.phase == first
        report(["event": isKept ? "kept" : "lost", "bytes": .integer(Int64(count.bytes))])
        await leg.close()
        return isKept
    }

    /// Sends to a sink; false when the relay cannot be reached.
    func source(to node: NodeID) async -> Bool {
        let leg = leg()
        await leg.start()
        guard await leg.connected() else { return false }
        let carrier = RelayCarrier(leg)
        let peer = await leg.number(of: node)
        let packets = [UInt8](repeating: 0x40, count: Self.burst * Self.packetSize)
        let end = loop.now.advanced(by: duration)
        while loop.now < end {
            packets.withUnsafeBytes { carrier.send($0, segmentSize: Self.packetSize, to: peer) }
            guard await LoopClock(loop).pause(for: Self.pause) == .over else { break }
        }
        await leg.close()
        return true
    }
}

/// Used on the loop only.
private final class Count {
    var bytes = 0
}
