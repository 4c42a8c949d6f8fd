import Glibc
import MewBase
@testable import MewLoop
import Synchronization
import Testing

@Suite("Looking up host names", .timeLimit(.minutes(1)))
struct HostLookupTests {
    @Test("an address needs no resolver")
    func literals() async throws {
        let lookup = HostLookup { host, _ in .failure(.init(.noAddress, host: host, reason: "asked")) }
        #expect(try await lookup.addresses(of: "192.0.2.1", port: 7) == [SocketAddress(ipv4: 0xc000_0201, port: 7)])
        #expect(try await lookup.addresses(of: "[2001:db8::1]", port: 7).count == 1)
        #expect(try await lookup.addresses(of: "2001:db8::1", port: 7).count == 1)
        await #expect(throws: HostLookup.Failure(.noAddress, host: "a.test", reason: "asked")) {
            try await lookup.addresses(of: "a.test", port: 7)
        }
    }

    @Test("that a name has no address is told apart from that nobody could be asked, whatever the system's words")
    func causes() async {
        // netdb.h: EAI_NODATA and EAI_ADDRFAMILY are extensions that Swift does not see.
        for code in [EAI_NONAME, -5, -9] {
            #expect(HostLookup.Failure(code: code, host: "a.test").cause == .noAddress)
        }
        for code in [EAI_AGAIN, EAI_FAIL, EAI_MEMORY, EAI_SYSTEM] {
            #expect(HostLookup.Failure(code: code, host: "a.test").cause == .noAnswer)
        }
        await #expect(throws: HostLookup.Failure(.noAddress, host: "a\0b", reason: "not a host name")) {
            try await HostLookup().addresses(of: "a\0b", port: 1)
        }
    }

    @Test("whoever is cancelled has an answer at once, although the resolver still blocks")
    func cancelled() async throws {
        let resolver = BlockingResolver()
        let lookup = resolver.lookup
        let asking = Task { await Self.failure(lookup, "dead.test") }
        await resolver.entered()
        asking.cancel()
        #expect(await asking.value == "cancelled")
        resolver.release()
        let early = Task {
            while !Task.isCancelled { await Task.yield() }
            return await Self.failure(lookup, "dead.test")
        }
        early.cancel()
        #expect(await early.value == "cancelled", "before it asked")
        resolver.release()
    }

    @Test("a time limit ends a look-up that gets no answer")
    func limited() async throws {
        let (resolver, loop) = (BlockingResolver(), try EventLoop(name: "test"))
        defer { loop.stop() }
        let lookup = resolver.lookup
        let limited = await withTimeLimit(.milliseconds(1), on: loop) { await Self.failure(lookup, "dead.test") }
        #expect(limited.isLate)
        resolver.release()
    }

    @Test("a name that gets no answer does not hold up another")
    func sideBySide() async throws {
        let resolver = BlockingResolver()
        let lookup = resolver.lookup
        let dead = Task { await Self.failure(lookup, "dead.test") }
        await resolver.entered()
        #expect(await Self.failure(lookup, "quick.test") == nil)
        resolver.release()
        #expect(await dead.value == nil)
    }

    @Test("four names are looked up at a time, and a fifth when one of them is done, wanted or not")
    func bound() async throws {
        let resolver = BlockingResolver()
        let lookup = resolver.lookup
        let four = (0..<4).map { number in Task { await Self.failure(lookup, "dead-\(number).test") } }
        for _ in 0..<4 { await resolver.entered() }
        for task in four { task.cancel() }
        for task in four { #expect(await task.value == "cancelled") }
        let fifth = Task { await Self.failure(lookup, "fifth.test") }
        resolver.release()
        await resolver.entered()
        #expect(resolver.peak == 4)
        for _ in 0..<4 { resolver.release() }
        #expect(await fifth.value == nil)
    }

    @Test("64 wait for a thread, and one more is refused; a cancelled one gives its place back")
    func queue() async throws {
        let resolver = BlockingResolver()
        let lookup = resolver.lookup
        let running = (0..<4).map { number in Task { await Self.failure(lookup, "dead-\(number).test") } }
        for _ in 0..<4 { await resolver.entered() }
        let waiting = (0..<64).map { number in Task { await Self.failure(lookup, "waiting-\(number).test") } }
        // Until all of them wait there is room for another, which waits in their place.
        while await refusal(lookup) != "too many look-ups at once" {}
        waiting[0].cancel()
        #expect(await waiting[0].value == "cancelled")
        #expect(await refusal(lookup) == "cancelled", "it has waited")
        for _ in 0..<67 { resolver.release() }
        for task in running + waiting.dropFirst() { #expect(await task.value == nil) }
        #expect(resolver.peak == 4)
    }

    /// Why one more is not answered; `cancelled` when it waits.
    private func refusal(_ lookup: HostLookup) async -> String? {
        let task = Task { await Self.failure(lookup, "another.test") }
        for _ in 0..<10 { await Task.yield() }
        task.cancel()
        return await task.value
    }

    private static func failure(_ lookup: HostLookup, _ host: String) async -> String? {
        do throws(HostLookup.Failure) {
            _ = try await lookup.addresses(of: host, port: 1)
            return nil
        } catch {
            return error.reason
        }
    }
}

/// Answers `quick.test` at once, and every other name when it is told to.
///
/// `@unchecked Sendable`: semaphores are made for several threads.
private final class BlockingResolver: @unchecked Sendable {
    private let gate = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let entrance = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let count = Mutex((now: 0, peak: 0))

    init() {
        sem_init(gate, 0, 0)
        sem_init(entrance, 0, 0)
    }

    deinit {
        gate.deallocate()
        entrance.deallocate()
    }

    var lookup: HostLookup {
        HostLookup { host, port in
            if host != "quick.test" { self.block() }
            return .success([.loopback(port: port)])
        }
    }

    private func block() {
        count.withLock { $0 = ($0.now + 1, max($0.peak, $0.now + 1)) }
        sem_post(entrance)
        sem_wait(gate)
        count.withLock { $0.now -= 1 }
    }

    /// Waits until one more thread blocks.
    func entered() async {
        while sem_trywait(entrance) != 0 { await Task.yield() }
    }

    /// Lets one of them go on, now or later.
    func release() { sem_post(gate) }

    var peak: Int { count.withLock { $0.peak } }
}
