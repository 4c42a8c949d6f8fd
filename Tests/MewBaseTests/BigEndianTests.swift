import MewBase
import Testing

@Suite("Numbers as bytes")
struct BigEndianTests {
    @Test("the most significant byte comes first")
    func order() {
        #expect(UInt16(0x0102).bigEndianBytes == [1, 2])
        #expect(UInt32(0x0102_0304).bigEndianBytes == [1, 2, 3, 4])
        #expect(UInt64(0x0102_0304_0506_07ff).bigEndianBytes == [1, 2, 3, 4, 5, 6, 7, 0xff])
        #expect(UInt64.zero.bigEndianBytes == [UInt8](repeating: 0, count: 8))
    }
}
