import MewIdentity
import MewWire
import Testing

@Suite("Relay URLs")
struct RelayURLTests {
    @Test(
        "a URL has the one text that iroh gives it",
        arguments: [
            ("http://127.0.0.1:3340", "http://127.0.0.1:3340/"),
            ("http://127.0.0.1:3340/", "http://127.0.0.1:3340/"),
            ("HTTPS://Relay.Example.COM/relay", "https://relay.example.com/"),
            ("https://relay.example.com.:443/", "https://relay.example.com./"),
            ("http://relay:80", "http://relay/"),
            ("wss://relay.example.com", "https://relay.example.com/"),
            ("ws://relay.example.com:443", "http://relay.example.com:443/"),
            ("https://[2001:db8::1]:4433/", "https://[2001:db8::1]:4433/"),
            (
                "https://192.0.2.1:4433/#df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo",
                "https://192.0.2.1:4433/#df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo"
            ),
        ])
    func normalises(text: String, expected: String) throws {
        let url = try RelayURL(text)
        #expect(url.description == expected)
        #expect(try RelayURL(url.description) == url)
    }

    @Test("the parts that a connection needs")
    func parts() throws {
        let url = try RelayURL("https://[2001:db8::1]/")
        #expect(url.isSecure)
        #expect(url.host == "2001:db8::1")
        #expect(url.port == 443)
        #expect(url.key == nil)
        #expect(url.authority == "[2001:db8::1]")
        #expect(try RelayURL("http://r:3340").authority == "r:3340")
        #expect(
            try RelayURL("http://r/#df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo").key == exampleKey().node)
    }

    @Test(
        "near misses are refused by what is wrong",
        arguments: [
            ("", RelayURLError.noScheme), ("relay.example.com", .noScheme), ("ftp://x/", .noScheme),
            ("http://", .noHost), ("https:///", .noHost), ("http://:80/", .noHost), ("http://a b/", .notPrintable),
            ("http://a:0/", .badPort), ("http://a:65536/", .badPort), ("http://a:+1/", .badPort),
            ("http://[::1/", .badHost), ("http://[zz]/", .badHost), ("http://a_b~c/", .badHost),
            ("http://[::1]x/", .badHost), ("http://me@a/", .hasUser), ("http://a/?token=x", .hasQuery),
            ("http://" + String(repeating: "a", count: 250), .tooLong),
        ])
    func refuses(text: String, reason: RelayURLError) {
        #expect(throws: reason) { try RelayURL(text) }
    }

    @Test("a fragment that is no node ID is refused")
    func badKey() {
        #expect(throws: RelayURLError.key(.wrongLength(5))) { try RelayURL("http://a/#hello") }
    }
}
