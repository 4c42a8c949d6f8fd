import MewTestSupport
import MewWire
import Testing

@Suite("Golden frames")
struct GoldenFrameTests {
    @Test("each golden frame decodes and is written again byte for byte", arguments: GoldenFrames.all)
    func roundTrip(frame: GoldenFrames.Frame) throws {
        #expect(try rewritten(frame.text, from: frame.sender == .client, on: .stock) == frame.text)
    }

    @Test("on a native link the golden frames mean the same", arguments: GoldenFrames.all)
    func nativeRoundTrip(frame: GoldenFrames.Frame) throws {
        #expect(try rewritten(frame.text, from: frame.sender == .client, on: .native) == frame.text)
    }

    @Test("every frame of the stock transcript decodes and is written again byte for byte")
    func transcript() throws {
        #expect(StockTranscript.frames.count == 59)
        for frame in StockTranscript.frames {
            #expect(try rewritten(frame.text, from: frame.sender == .client, on: .stock) == frame.text)
        }
    }

    @Test("white space, another order of keys and unknown fields change nothing", arguments: GoldenFrames.all)
    func tolerance(frame: GoldenFrames.Frame) throws {
        guard case .object(let object) = try JSON(parsing: frame.text) else { return }
        let turned = JSONObject(
            [("from_the_future", ["x": [1.5]])] + object.entries.reversed().map { (key: $0.key, value: $0.value) })
        let spaced = JSON.object(turned).text.replacing(",\"", with: " ,\n\t\"")
        #expect(try rewritten(spaced, from: frame.sender == .client, on: .stock) == frame.text)
    }
}

/// Decodes and encodes again, for the same kind of link unless told otherwise.
func rewritten(
    _ text: String, from isClient: Bool, on link: ApplicationProtocol, writingOn other: ApplicationProtocol? = nil
) throws -> String? {
    let bytes: [UInt8]?
    if isClient {
        bytes = try ClientFrame.decode(Array(text.utf8), from: link).frame.encoded(for: other ?? link)
    } else {
        bytes = try DaemonFrame.decode(Array(text.utf8), from: link).frame.encoded(for: other ?? link)
    }
    return bytes.map { String(decoding: $0, as: UTF8.self) }
}

extension Decoded {
    struct NotDecoded: Error { let result: String }

    var frame: Frame {
        get throws {
            guard case .decoded(let frame) = self else { throw NotDecoded(result: "\(self)") }
            return frame
        }
    }
}
