import MewWire
import Testing

@Suite("Pairing digits")
struct PairingDigitsTests {
    @Test(
        "eight bytes, big endian, modulo a million, zero padded",
        arguments: [
            ([0, 0, 0, 0, 0, 0, 0, 7], "000007"), ([0, 0, 0, 0, 0, 0x0f, 0x42, 0x3f], "999999"),
            ([0, 0, 0, 0, 0, 0x0f, 0x42, 0x40], "000000"),
            ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "551615"),
        ] as [([UInt8], String)])
    func vectors(bytes: [UInt8], digits: String) {
        #expect(PairingDigits.text(bytes) == digits)
    }
}
