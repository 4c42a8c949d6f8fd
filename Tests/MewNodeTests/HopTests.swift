import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewWire
import Testing

/// What was measured once and must stay so: a task of the loop gets a message without another thread being woken
/// (spec/swift-notes.md §4).
@Suite("Cost of a message", .timeLimit(.minutes(1)))
struct HopTests {
    @Test("tasks on the loop exchange messages without waking a thread", arguments: ApplicationProtocol.allCases)
    func noHops(applicationProtocol: ApplicationProtocol) async throws {
        try await withLoop { loop in
            let near = try await startNode(1, offers: [applicationProtocol], on: loop)
            let far = try await startNode(2, on: loop)
            loop.spawn {
                guard let link = await far.acceptLink() else { return }
                await link.authorize(charging: ByteBudget(maxBytes: 64 << 20))
                guard let channel = await link.acceptChannel() else { return }
                while let message = try? await channel.receive() { try? await channel.send(message) }
                _ = await link.closed()
            }
            let rounds = 500
            let signals = try await loop.spawn { () -> Result<Int, any Error> in
                do {
                    let link = try await near.dial(DialTarget(node: far.node, addresses: far.addresses))
                    let channel = try await link.openChannel()
                    let before = loop.signalCount
                    for _ in 0..<rounds {
                        try await channel.send([0x7b, 0x7d])
                        _ = try await channel.receive()
                    }
                    let signals = loop.signalCount - before
                    await link.close(code: .done, reason: "")
                    return .success(signals)
                } catch {
                    return .failure(error)
                }
            }.value.get()
            // Not one in fifty; other tests of this process have loops of their own.
            #expect(signals < rounds / 50)
            await near.stop()
            await far.stop()
        }
    }
}
