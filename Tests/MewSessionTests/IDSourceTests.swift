import MewBase
import MewSession
import MewTestSupport
import Testing

@Suite("where identifiers come from")
struct IDSourceTests {
    /// The same number for ever: every identifier of a millisecond would be the same.
    private struct Constant: Entropy {
        func fill(_ bytes: UnsafeMutableRawBufferPointer) { for index in bytes.indices { bytes[index] = 0xff } }
    }

    @Test("they only go up, whatever clock and chance say")
    func increasing() {
        let ids = MonotonicIDs(entropy: Constant())
        let all = [5, 5, 4, 6, 5].map { ids.next(milliseconds: $0) }
        #expect(all == all.sorted() && Set(all).count == all.count)
    }

    @Test("what is reserved with one is given away to nobody else")
    func reserved() {
        let ids = MonotonicIDs(entropy: Constant())
        let first = ids.next(3, milliseconds: 5)
        #expect(ids.next(milliseconds: 5) == first.advanced(by: 3))
        #expect(ids.next(2, milliseconds: 4) == first.advanced(by: 4))
        #expect(ids.next(milliseconds: 4) == first.advanced(by: 6))
    }
}
