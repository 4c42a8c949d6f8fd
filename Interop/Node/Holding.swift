import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewWire

/// What `interop-node hold` is to do: one connection, over which messages come back from an echo until so much was said and the
/// connection has gone these ways in this order.
struct HoldOptions {
    var relays: [String] = []
    var addresses: [SocketAddress] = []
    var byteCount = 0
    /// `relay` and `direct`.
    var ways: [String] = []
}

/// Keeps one connection busy while somebody outside changes the network, and says which way it goes.
struct Holding {
    let link: any Link
    let loop: EventLoop
    let options: HoldOptions

    private static let messageSize = 64 << 10
    /// So that the transfer lasts longer than a change of the way: 5 MiB a second each way at most.
    private static let pause: Duration = .milliseconds(12)

    func run() async -> Bool {
        var ways = options.ways[...]
        var last = ""
        var echoed = 0
        do throws(ChannelError) {
            let channel = try await link.openChannel()
            while echoed < options.byteCount || !ways.isEmpty {
                try await exchange(on: channel, number: echoed / Self.messageSize)
                echoed += Self.messageSize
                let way = await self.way
                if way != last {
                    report(["event": "path", "path": .string(way), "bytes": .integer(Int64(echoed))])
                    last = way
                }
                if way == ways.first { ways.removeFirst() }
                guard await LoopClock(loop).pause(for: Self.pause) == .over else { return false }
            }
            await channel.finish()
            guard try await channel.receive() == nil else {
                report(["event": "no_end"])
                return false
            }
        } catch {
            report(["event": "broken", "reason": .string("\(error)"), "bytes": .integer(Int64(echoed))])
            return false
        }
        report(["event": "held", "bytes": .integer(Int64(echoed))])
        return true
    }

    /// Each message is another one, so that what comes back late or twice is seen.
    private func exchange(on channel: any MessageChannel, number: Int) async throws(ChannelError) {
        var message = (0..<Self.messageSize).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
        message[0] = UInt8(truncatingIfNeeded: number >> 8)
        try await channel.send(message)
        guard try await channel.receive() == message else {
            report(["event": "wrong_echo", "number": .integer(Int64(number))])
            stop(1)
        }
    }

    private var way: String {
        get async {
            switch await link.status().path {
            case .direct: "direct"
            case .relay: "relay"
            }
        }
    }
}
