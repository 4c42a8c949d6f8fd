import Testing

@testable import MewClient

@Suite("The feed of events", .timeLimit(.minutes(1)))
struct FeedTests {
    @Test("events arrive in order, and the end comes after them")
    func order() async {
        let feed = Feed<Int>(capacity: 3)
        for number in 1...3 { #expect(await feed.send(number)) }
        feed.finish()
        #expect(await feed.send(4) == false)
        var seen: [Int] = []
        for await number in feed { seen.append(number) }
        #expect(seen == [1, 2, 3])
    }

    @Test("a full feed suspends the sender until the reader takes one")
    func backPressure() async {
        let feed = Feed<Int>(capacity: 1)
        await feed.send(0)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 1...1_000 { await feed.send(number) }
                feed.finish()
            }
            var expected = 0
            for await number in feed {
                #expect(number == expected)
                expected += 1
            }
            #expect(expected == 1_001)
        }
    }

    @Test("what is posted goes in when the feed is full, in its place, and lets nobody else in")
    func posting() async {
        let feed = Feed<Int>(capacity: 1)
        #expect(feed.post(1) && feed.post(2) && !feed.offerNow(3))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await feed.send(3) }
            #expect(await feed.next() == 1)
            #expect(!feed.offerNow(4))
            #expect(await feed.next() == 2)
            #expect(await feed.next() == 3)
        }
        feed.finish()
        #expect(!feed.post(5))
    }

    @Test("senders that wait are let in in the order in which they came")
    func fairness() async {
        let feed = Feed<Int>(capacity: 1)
        await feed.send(0)
        await withTaskGroup(of: Void.self) { group in
            for number in 1...20 {
                group.addTask { await feed.send(number) }
                while feed.waitingSenders < number { await Task.yield() }
            }
            for number in 0...20 { #expect(await feed.next() == number) }
        }
    }

    @Test("a cancelled reader and a cancelled sender are let go")
    func cancellation() async {
        let feed = Feed<Int>(capacity: 1)
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await feed.next() == nil }
            group.cancelAll()
            #expect(await group.next() == true)
        }
        await feed.send(1)
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await feed.send(2) }
            group.cancelAll()
            #expect(await group.next() == false)
        }
        #expect(await feed.next() == 1)
    }

    @Test("ending lets waiting senders go")
    func finishing() async {
        let feed = Feed<Int>(capacity: 1)
        await feed.send(1)
        async let sent = feed.send(2)
        feed.finish()
        #expect(await sent == false)
    }
}
