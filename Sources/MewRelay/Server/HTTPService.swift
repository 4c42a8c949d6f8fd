internal import MewBase
internal import MewIdentity
internal import MewWire

/// What a relay answers besides the relay protocol (spec/iroh-wire.md §4.8 and §5.3).
struct HTTPService {
    struct Answer {
        let response: HTTPResponse
        var body: [UInt8] = []
    }

    let hub: RelayHub
    let client: any RelayClient

    func answer(_ request: HTTPRequest, _ body: [UInt8]) -> Answer {
        switch (request.method, request.path) {
        case ("GET", "/ping"):
            Answer(response: HTTPResponse(200, ["Access-Control-Allow-Origin": "*"]))
        case ("GET", "/generate_204"):
            captivePortalProof(request)
        case ("GET", "/healthz"):
            json(["status": "ok", "version": .string(hub.programVersion), "git_hash": ""])
        case ("GET", "/metrics"):
            text(hub.snapshot.prometheusText, type: "text/plain; version=0.0.4; charset=utf-8")
        case ("GET", "/"), ("GET", "/index.html"):
            text("This is a mew relay: it passes encrypted packets between nodes.\n")
        case ("GET", "/robots.txt"):
            text("User-agent: *\nDisallow: /\n")
        case (_, let path) where path.hasPrefix(Self.recordPrefix):
            record(request, body)
        default:
            Answer(response: HTTPResponse(404), body: Array("Not Found".utf8))
        }
    }

    /// Shows that nobody on the way answers in our place: what was asked comes back.
    private func captivePortalProof(_ request: HTTPRequest) -> Answer {
        guard let challenge = request.fields["x-iroh-challenge"], (1...63).contains(challenge.utf8.count),
            challenge.utf8.allSatisfy(Self.isChallengeByte)
        else { return Answer(response: HTTPResponse(204)) }
        return Answer(response: HTTPResponse(204, ["X-Iroh-Response": "response \(challenge)"]))
    }

    private static func isChallengeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private func text(_ text: String, type: String = "text/plain; charset=utf-8") -> Answer {
        Answer(response: HTTPResponse(200, ["Content-Type": type]), body: Array(text.utf8))
    }

    private func json(_ object: JSONObject) -> Answer {
        text(JSON.object(object).text, type: "application/json")
    }

    // MARK: - Records

    private static let recordPrefix = "/pkarr/"

    private func record(_ request: HTTPRequest, _ body: [UInt8]) -> Answer {
        let name = request.path.dropFirst(Self.recordPrefix.count)
        guard let bytes = Base32.zBase32.decode(name), let node = NodeID(bytes: bytes) else {
            return refuseRecord(400, "no node ID")
        }
        switch request.method {
        case "GET":
            guard let record = hub.records.find(node, now: hub.now) else { return Answer(response: HTTPResponse(404)) }
            hub.metrics.recordsServed += 1
            let type = HTTPFields(dictionaryLiteral: ("Content-Type", "application/x-pkarr-signed-packet"))
            return Answer(response: HTTPResponse(200, type), body: record.body)
        case "PUT":
            // Whom the relay does not serve it keeps nothing for. Who wrote it the signature tells.
            if let refusal = hub.rules.refusal(of: node, token: request.bearerToken) {
                hub.tellRecordRefused(node, of: client, refusal)
                return refuseRecord(403, "not authorized")
            }
            return store(body, of: node)
        default:
            return Answer(response: HTTPResponse(405, ["Allow": "GET, PUT"]))
        }
    }

    private func store(_ body: [UInt8], of node: NodeID) -> Answer {
        do throws(SignedRecord.Refusal) {
            let record = try SignedRecord(body: body, of: node)
            // An older one is no mistake of its sender's: it is thanked, and the newer one stays.
            if hub.records.store(record, from: client.source, now: hub.now) == .stored {
                hub.metrics.recordsStored += 1
            }
            return Answer(response: HTTPResponse(204))
        } catch {
            return refuseRecord(400, "\(error)")
        }
    }

    private func refuseRecord(_ status: Int, _ reason: String) -> Answer {
        hub.metrics.recordsRefused += 1
        return Answer(response: HTTPResponse(status), body: Array("\(reason)\n".utf8))
    }
}
