import MewIdentity
import Testing

@Suite("BLAKE3 of one chunk")
struct BLAKE3Tests {
    static let relayContext = "iroh-relay handshake v1 challenge signature"
    static let testContext = "BLAKE3 2019-12-27 16:29:52 test vectors context"

    private static func counting(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 251) } }

    @Test(
        "keys are derived as the reference implementation derives them",
        arguments: [
            (
                relayContext, [UInt8](repeating: 0, count: 16),
                "8105e7bd9963194e6d6d80225a3f1b071da3b6e65edcd12531e16233f33de9d6"
            ),
            (
                relayContext, [UInt8](repeating: 255, count: 16),
                "4a7d1cdee21ad5903903e39bea963bca561616997b1fa448c256d1cdd244b6e4"
            ),
            (relayContext, counting(16), "b7b16e505d2cb5dbaf494800092c3b05a6c45d8d3fd4f1b888c6a77240b876c0"),
            (relayContext, [], "b6b792a0756171b7230e473d47721c6d5b54fb029d9393ad392eee24f811a17b"),
            (relayContext, counting(64), "1a6457df9fbfea70b9e55cc77fcac8f0d8611f56432c69a77385d6eb70de2ec5"),
            (relayContext, counting(65), "a81fb009a69b2ff3f0fcd39ac4c1634c15bb59a2d737ce2fd5df80379e358aeb"),
            (relayContext, counting(1_024), "929f1cd43002b5e060fe140c4b6f0cbeb804eb23ac5643d27d204e6f1fd0ea7c"),
            (testContext, [], "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d"),
            (testContext, [0, 1, 2], "440aba35cb006b61fc17c0529255de438efc06a8c9ebf3f2ddac3b5a86705797"),
        ])
    func derivesKeys(context: String, material: [UInt8], expected: String) {
        #expect(Hex.encode(BLAKE3.deriveKey(context: context, material: material)) == expected)
    }

    @Test("a challenge as a relay sent it")
    func realChallenge() throws {
        let challenge = try #require(Hex.decode("7e04ae01139f6ddb0f03162893f7c66b"))
        #expect(
            Hex.encode(BLAKE3.deriveKey(context: Self.relayContext, material: challenge))
                == "432ec7b4250823b4342aa013cf782e32dd4b2c301e3b13b649e036a5ba2c3aba")
    }

    @Test("the plain hash of nothing and of three letters")
    func digests() {
        #expect(Hex.encode(BLAKE3.digest([])) == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262")
        #expect(
            Hex.encode(BLAKE3.digest(Array("abc".utf8)))
                == "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85")
    }
}
