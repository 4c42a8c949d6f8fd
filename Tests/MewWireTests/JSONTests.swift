import MewWire
import Testing

@Suite("JSON")
struct JSONTests {
    @Test(
        "what was parsed is written back, byte for byte",
        arguments: [
            "null", "true", "false", "0", "-1", "9007199254740991", "-9007199254740991", "0.0", "-0.0", "0.0142",
            "1e+16",
            "5e-324", "1.7976931348623157e+308", "\"\"", "\"plain\"", "\"a longer piece of plain text\"",
            "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f/\"", "\"naïve — 🐈 \u{2028}\"", "[]", "{}",
            "[1,[2,[3]],{\"a\":null}]",
            "{\"b\":1,\"a\":{\"\":[]}}",
        ])
    func roundTrip(text: String) throws {
        #expect(try JSON(parsing: text).text == text)
    }

    @Test(
        "white space and escapes are read",
        arguments: [
            (" \t\r\n[ 1 , 2 ] ", [1, 2]), ("{ \"a\" : 1 }", ["a": 1]), ("\"\\u0041\\/\\u00e9\"", "A/é"),
            ("\"x\\ud83d\\uDC08y\"", "x🐈y"), ("1E2", 100.0), ("1e-2", 0.01), ("1.50", 1.5),
        ] as [(String, JSON)])
    func reads(text: String, value: JSON) throws {
        #expect(try JSON(parsing: text) == value)
    }

    @Test(
        "what RFC 8259 does not allow is refused",
        arguments: [
            "", " ", "nul", "nullx", "True", "+1", "01", "-", "-01", "1.", ".5", "1e", "1e+", "0x10", "NaN", "Infinity",
            "1e400", "'a'", "\"", "\"a", "\"\\", "\"\\u12", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "\"\u{0}\"", "[", "[1",
            "[1,",
            "[1,]", "[,1]", "[1 2]", "]", "{", "{}}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}",
            "{\"a\":1 \"b\":2}",
            "1 2", "[]x", "\u{feff}1", "// c\n1", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800x\"", "\"\\ud800\\n\"",
            "\"\\ud800\\ud800\"", "\u{a0}1",
        ])
    func refuses(text: String) {
        #expect(throws: JSONError.self) { try JSON(parsing: text) }
    }

    @Test(
        "invalid UTF-8 is refused",
        arguments: [
            [0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0xff],
        ] as [[UInt8]])
    func refusesBadUTF8(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSON(parsing: [0x22] + bytes + [0x22]) }
        #expect(throws: JSONError.self) { try JSON(parsing: [0x22, 0x5c, 0x6e] + bytes + [0x22]) }
        #expect(throws: JSONError.self) { try JSON(parsing: bytes) }
    }

    @Test("integers end at 2^53-1, on both sides, and only with a fraction or exponent go on")
    func integerRange() throws {
        #expect(try JSON(parsing: "9007199254740991") == .integer(JSON.maxInteger))
        #expect(throws: JSONError.self) { try JSON(parsing: "9007199254740992") }
        #expect(throws: JSONError.self) { try JSON(parsing: "-9007199254740992") }
        #expect(throws: JSONError.self) { try JSON(parsing: "123456789012345678901234567890") }
        #expect(try JSON(parsing: "9007199254740992.0") == .number(9_007_199_254_740_992))
        #expect(try JSON(parsing: "1e30") == .number(1e30))
    }

    @Test("64 levels are read, 65 are refused", arguments: ["[", "{\"a\":"])
    func nesting(open: String) throws {
        func nested(_ levels: Int) -> String {
            let close = open == "[" ? "]" : "}"
            return String(repeating: open, count: levels - 1) + (open == "[" ? "[]" : "{}")
                + String(repeating: close, count: levels - 1)
        }
        #expect(try JSON(parsing: nested(64)).nesting == 64)
        #expect(throws: JSONError.self) { try JSON(parsing: nested(65)) }
        #expect(throws: JSONError.self) { try JSON(parsing: String(repeating: open, count: 100_000)) }
    }

    @Test("the last of equal keys wins, at the place of the first; keys that only look alike stay apart")
    func duplicateKeys() throws {
        #expect(try JSON(parsing: "{\"a\":1,\"b\":2,\"a\":3}").text == "{\"a\":3,\"b\":2}")
        let alike = "{\"\u{e9}\":1,\"e\u{301}\":2}"
        #expect(try JSON(parsing: alike).text == alike)
        #expect(try JSON(parsing: alike)["e\u{301}"] == 2)
    }

    @Test("large objects keep their order, find every key and drop duplicates")
    func largeObject() throws {
        let members = (0..<1_000).map { "\"key \($0)\":\($0)" }
        let text = "{" + members.joined(separator: ",") + "}"
        let twice = "{" + (members + members).joined(separator: ",") + "}"
        var value = try JSON(parsing: twice)
        #expect(value.text == text)
        #expect((0..<1_000).allSatisfy { value["key \($0)"] == .integer(Int64($0)) })
        guard case .object(var object) = value else { return }
        object["key 500"] = nil
        value = .object(object)
        #expect(value["key 500"] == nil && value["key 999"] == 999 && object.count == 999)
    }

    @Test("a repeated key is found whatever its length and first letter, also spelled with an escape")
    func duplicatesOfEveryLength() throws {
        for length in 0..<70 {
            for first in ["", "a", "z", "é", "\u{10ffff}"] {
                let key = first + String(repeating: "k", count: length)
                let value = try JSON(parsing: "{\"\(key)\":1,\"x y\":2,\"\(key)\":3}")
                #expect(value.asObject?.count == 2 && value[key] == 3 && value["x y"] == 2)
            }
        }
        #expect(try JSON(parsing: "{\"abc\":1,\"\\u0061bc\":2}").text == "{\"abc\":2}")
    }

    @Test("the limits on bytes and values hold exactly")
    func limits() throws {
        let limits = JSON.Limits(maxBytes: 10, maxNesting: 2, maxValues: 4)
        #expect(try JSON(parsing: "[1,2,3]", limits: limits) == [1, 2, 3])
        #expect(throws: JSONError.self) { try JSON(parsing: "[1,2,3,4]", limits: limits) }
        #expect(try JSON(parsing: "\"12345678\"", limits: limits) == "12345678")
        #expect(throws: JSONError.self) { try JSON(parsing: "\"123456789\"", limits: limits) }
        #expect(throws: JSONError.self) { try JSON(parsing: "[[[]]]", limits: limits) }
    }

    @Test("every prefix of a document is refused, never read as something else")
    func truncation() throws {
        let text = "{\"a\":[1,-2.5e3,\"x\\u00e9\\n\",true,false,null],\"b\":{\"c\":\"naïve 🐈\"}}"
        let bytes = Array(text.utf8)
        #expect(try JSON(parsing: bytes).nesting == 2)
        for count in 0..<bytes.count {
            #expect(throws: JSONError.self) { try JSON(parsing: Array(bytes[..<count])) }
        }
    }

    @Test("quotes, backslashes, control and non-ASCII characters are found at every offset")
    func scanning() throws {
        for length in 0..<40 {
            for special in ["\"", "\\", "\n", "\u{7f}", "é", "🐈"] {
                let value = JSON.string(
                    String(repeating: "a", count: length) + special + String(repeating: "b", count: 17))
                #expect(try JSON(parsing: value.text) == value)
            }
            let raw = Array("\"".utf8) + Array(repeating: 0x61, count: length) + [0x1f] + Array("bbbbbbbbbbb\"".utf8)
            #expect(throws: JSONError.self) { try JSON(parsing: raw) }
        }
    }

    @Test("a double that JSON cannot write becomes null, an integer out of range the last one in it")
    func unwritable() {
        #expect(JSON.number(.infinity).text == "null")
        #expect(JSON.integer(.max).text == "9007199254740991")
        #expect(JSON.integer(.min).text == "-9007199254740991")
    }
}
