import MewBase
import Testing

@Suite("ULID")
struct ULIDTests {
    @Test("text round-trips at both ends of the space")
    func roundTrip() {
        for id in [ULID(high: 0, low: 0), ULID(high: .max, low: .max), ULID(high: 0x0123_4567_89ab_cdef, low: 42)] {
            #expect(ULID(id.description) == id)
        }
        #expect(ULID(high: .max, low: .max).description == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
    }

    @Test(
        "near misses are refused",
        arguments: [
            "", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "01K4SJKHR00000000000T0KEN", "01K4SJKHR00000000000T0KEN11",
            "01k4sjkhr00000000000t0ken1", "01K4SJKHR00000000000TOKEN1", "01K4SJKHR00000000000T0KEN ",
        ])
    func refuses(text: String) {
        #expect(ULID(text) == nil)
    }

    @Test("places further on carry into the upper half, and stop at the end of the space")
    func distance() {
        #expect(ULID(high: 1, low: 1).advanced(by: 2) == ULID(high: 1, low: 3))
        #expect(ULID(high: 1, low: .max).successor == ULID(high: 2, low: 0))
        #expect(ULID(high: 1, low: .max - 1).advanced(by: 3) == ULID(high: 2, low: 1))
        #expect(ULID(high: .max, low: .max).successor == ULID(high: .max, low: .max))
        #expect(ULID(high: .max, low: .max - 1).advanced(by: 3) == ULID(high: .max, low: .max))
    }

    @Test("the time is the milliseconds that were passed in")
    func time() {
        #expect(ULID("01K4SJKHR00000000000T0KEN1")?.milliseconds == 1_757_500_000_000)
    }
}
