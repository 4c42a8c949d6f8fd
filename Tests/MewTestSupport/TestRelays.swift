import MewIdentity
import MewLoop
package import MewRelay
package import MewWire

/// Several small relays inside the test, each with the records it keeps.
package final class TestRelays: RelayConnector {
    package let relays: [RelayURL: TestRelay]

    package init(_ urls: [RelayURL]) {
        relays = Dictionary(uniqueKeysWithValues: urls.map { ($0, TestRelay()) })
    }

    package subscript(url: RelayURL) -> TestRelay {
        guard let relay = relays[url] else { preconditionFailure("no relay of the test is at \(url)") }
        return relay
    }

    package func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        guard let relay = relays[url] else {
            throw .system(SystemError(errno: 111, doing: "connecting to \(url)"))
        }
        return try await relay.connect(to: url)
    }
}

/// What a small relay answers besides the relay protocol: `/ping`, and the records of spec/iroh-wire.md §5.3.
struct TestRelayRecords {
    private(set) var records: [NodeID: SignedRecord] = [:]

    subscript(node: NodeID) -> SignedRecord? {
        get { records[node] }
        set { records[node] = newValue }
    }

    /// The whole answer.
    mutating func answer(_ request: HTTPRequest, _ body: [UInt8]) -> [UInt8] {
        if request.path == "/ping" { return Self.response(200) }
        guard request.path.hasPrefix("/pkarr/"), let node = try? NodeID(text: request.path.dropFirst(7)) else {
            return Self.response(404)
        }
        if request.method == "PUT" {
            guard let record = try? SignedRecord(body: body, of: node) else { return Self.response(400) }
            if records[node].map({ record.isNewer(than: $0) }) ?? true { records[node] = record }
            return Self.response(204)
        }
        return records[node].map { Self.response(200, $0.body) } ?? Self.response(404)
    }

    private static func response(_ status: Int, _ body: [UInt8] = []) -> [UInt8] {
        HTTPResponse(status, ["content-length": "\(body.count)", "connection": "close"]).encoded + body
    }
}
