import MewIdentity
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

@Suite("what waits for one device in all its channels")
struct ClientBudgetTests {
    private let budget = ByteBudget(maxBytes: 100_000)

    private func client(_ number: UInt64) -> SessionClient {
        SessionClient(
            id: ClientID(number), role: .session, node: CoreBench.node(1), name: "laptop", budget: budget)
    }

    private func frame(_ bytes: Int) -> [UInt8] { [UInt8](repeating: 0x20, count: bytes) }

    @Test("what waits and what is being sent is charged, and given back when it is gone or the client is")
    func charged() async {
        do {
            let client = client(1)
            #expect(client.push(frame(30_000), .stream(upTo: nil)) == .queued)
            #expect(client.push(frame(20_000), .reply) == .queued)
            #expect(budget.usedBytes == 50_000)
            #expect(await client.next()?.count == 30_000)
            #expect(budget.usedBytes == 50_000)
            #expect(await client.next()?.count == 20_000)
            #expect(budget.usedBytes == 20_000)
        }
        #expect(budget.usedBytes == 0)
    }

    @Test("beyond it a channel gets a gap, with the word of it; when there is room again it goes on")
    func gap() async {
        let (greedy, other) = (client(1), client(2))
        #expect(greedy.push(frame(60_000), .stream(upTo: nil)) == .queued)
        #expect(other.push(frame(40_000), .stream(upTo: nil)) == .queued)
        #expect(other.push(frame(1), .stream(upTo: nil)) == .overflowed(after: .zero))
        #expect(other.push(frame(100), .reply) == .queued)
        #expect(budget.usedBytes == 60_100)
        other.resumeStream()
        #expect(other.push(frame(39_900), .stream(upTo: nil)) == .queued)
        #expect(other.push(frame(1), .stream(upTo: nil)) == .overflowed(after: .zero))
    }

    @Test("an answer that is being made is charged, keeps the client from asking for more, and is given back with it")
    func promised() async {
        let client = client(1)
        #expect(client.promise(60_000))
        #expect(budget.usedBytes == 60_000)
        #expect(!client.promise(60_000))
        #expect(client.push(frame(10_000), .stream(upTo: nil)) == .queued)
        #expect(await client.next()?.count == 10_000)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await client.waitForRoom() }
            group.addTask { client.keep(promise: 60_000, with: self.frame(50_000)) }
        }
        #expect(budget.usedBytes == 60_000)
        #expect(await client.next()?.count == 50_000)
        #expect(budget.usedBytes == 50_000)
        #expect(client.promise(50_000))
        client.keep(promise: 50_000, with: nil)
        #expect(budget.usedBytes == 50_000)
        client.end()
        #expect(!client.promise(1))
    }

    @Test("where a large answer has no room the channel ends, and holds nothing any more")
    func overdrawn() async {
        let (greedy, other) = (client(1), client(2))
        #expect(greedy.push(frame(90_000), .reply) == .queued)
        #expect(other.push(frame(10_001), .reply) == .silent)
        #expect(other.isOverdrawn && other.isEnded)
        #expect(await other.next() == nil)
        #expect(budget.usedBytes == 90_000)
        #expect(!greedy.isOverdrawn)
    }
}
