import MewBase
import MewQUICCore
import Testing

@testable import MewQUIC

@Suite("First packets that came through a relay wait for a direct copy")
struct HeldInitialsTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let relayed = Outlet(route: .carried(CarrierID(number: 1), peer: 7))
    private let direct = Outlet(route: .direct(.loopback(port: 1)))

    private func after(_ milliseconds: Int64) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    private func choice(_ byte: UInt8, byteCount: Int = HeldInitials.destinationBytes) throws -> ForeignConnectionID {
        let bytes = [UInt8](repeating: byte, count: byteCount)
        return try #require(bytes.withUnsafeBytes { ForeignConnectionID($0) })
    }

    private func initial(_ arrival: Outlet) -> PendingInitial { PendingInitial(bytes: [1], arrival: arrival, ecn: 0) }

    @Test("for 100 ms, and once only")
    func time() throws {
        var held = HeldInitials()
        #expect(held.hold(initial(relayed), for: try choice(1), now: start))
        #expect(held.deadline == after(100))
        #expect(held.takeDue(now: after(99)).isEmpty)
        let due = held.takeDue(now: after(100))
        #expect(due.count == 1)
        #expect(held.deadline == nil)
        #expect(!held.hold(try #require(due.first), for: try choice(1), now: after(100)))
    }

    @Test("a direct copy makes the relayed one needless; another dialler's stays")
    func directCopy() throws {
        var held = HeldInitials()
        #expect(held.hold(initial(relayed), for: try choice(1), now: start))
        #expect(held.hold(initial(relayed), for: try choice(2), now: start))
        held.drop(try choice(1))
        #expect(held.takeDue(now: after(100)).count == 1)
    }

    @Test("direct packets, and those of our own diallers, do not wait")
    func notHeld() throws {
        var held = HeldInitials()
        #expect(!held.hold(initial(direct), for: try choice(1), now: start))
        #expect(!held.hold(initial(relayed), for: try choice(1, byteCount: 18), now: start))
    }

    @Test("64 wait, the next one is answered at once")
    func bound() throws {
        var held = HeldInitials()
        for _ in 0..<HeldInitials.maxCount { #expect(held.hold(initial(relayed), for: try choice(1), now: start)) }
        #expect(!held.hold(initial(relayed), for: try choice(1), now: start))
    }
}
