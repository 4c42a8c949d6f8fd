internal import MewBase
internal import MewLoop
package import MewRelay
internal import MewWire

/// One HTTP request to a relay and its answer, on a connection of its own: such requests are rare, and a relay ends the
/// connection after one answer.
struct RelayExchange: Sendable {
    let connector: any RelayConnector
    let loop: any Loop
    /// What that relay wants before it keeps something.
    var token: @Sendable (RelayURL) -> String? = { _ in nil }

    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
        /// From the request's last byte to the answer's head, on a connection that stands: one round trip.
        let roundTrip: Duration
    }

    /// The largest answer we ask for is a record, which has little more than 1 KiB.
    static let maxBodyBytes = 4 << 10

    /// Everything from the look-up of the name to the last byte happens within `limit`.
    func send(
        _ method: String, _ path: String, body: [UInt8] = [], to url: RelayURL, within limit: Duration
    ) async throws(LookupFailure) -> Answer {
        try await withTimeLimit(limit, on: loop) { await attempt(method, path, body, url) }.result(late: .timedOut)
            .get()
    }

    private func attempt(
        _ method: String, _ path: String, _ body: [UInt8], _ url: RelayURL
    ) async -> Result<Answer, LookupFailure> {
        do throws(StreamFailure) {
            let stream = try await connector.connect(to: url)
            let answer = await exchange(request(method, path, body, url), over: stream)
            await stream.close()
            return answer
        } catch {
            return .failure(.stream(error))
        }
    }

    private func request(_ method: String, _ path: String, _ body: [UInt8], _ url: RelayURL) -> [UInt8] {
        var fields: HTTPFields = ["host": url.authority, "connection": "close"]
        if method == "PUT" {
            fields.append("content-length", "\(body.count)")
            if let token = token(url) { fields.append("authorization", "Bearer \(token)") }
        }
        return HTTPRequest(method, path, fields).encoded + body
    }

    private func exchange(_ request: [UInt8], over stream: any TCPStream) async -> Result<Answer, LookupFailure> {
        do throws(StreamFailure) {
            try await stream.write(request)
            let sent = loop.now
            var received: [UInt8] = []
            while true {
                switch HTTPResponse.parse(received) {
                case .needMore:
                    guard let more = try await stream.read(maxBytes: 8 << 10) else { return .failure(.stream(.closed)) }
                    received += more
                case .malformed(let reason): return .failure(.malformed(reason))
                case .head(let response, let byteCount):
                    let roundTrip = sent.duration(to: loop.now)
                    let body = try await body(of: response, received.dropFirst(byteCount), stream)
                    return body.map { Answer(status: response.status, body: $0, roundTrip: roundTrip) }
                }
            }
        } catch {
            return .failure(.stream(error))
        }
    }

    /// Of a success: what others say is for people only.
    private func body(
        of response: HTTPResponse, _ first: ArraySlice<UInt8>, _ stream: any TCPStream
    ) async throws(StreamFailure) -> Result<[UInt8], LookupFailure> {
        guard response.status == 200 else { return .success([]) }
        guard response.fields["transfer-encoding"] == nil else {
            return .failure(.malformed("the answer comes in chunks"))
        }
        let length: Int?
        switch response.fields.contentLength {
        case .absent: length = nil
        case .bytes(let byteCount): length = byteCount
        case .malformed: return .failure(.malformed("the answer's Content-Length is no number"))
        }
        guard (length ?? 0) <= Self.maxBodyBytes else { return .failure(.malformed("the answer is too large")) }
        var body = Array(first)
        while body.count < (length ?? .max) {
            guard body.count <= Self.maxBodyBytes else { return .failure(.malformed("the answer is too large")) }
            guard let more = try await stream.read(maxBytes: 8 << 10) else { break }
            body += more
        }
        guard let length else { return .success(body) }
        return body.count < length ? .failure(.stream(.closed)) : .success(Array(body.prefix(length)))
    }
}

/// Why a relay's HTTP side gave nothing.
package enum LookupFailure: Error, Hashable, Sendable, CustomStringConvertible {
    case stream(StreamFailure)
    case timedOut
    /// Not the answer of an HTTP server, or of none of ours.
    case malformed(String)
    /// It answered with this status.
    case status(Int)
    /// What it gave is no record that this node has signed.
    case badRecord

    /// Half a sentence.
    package var description: String {
        switch self {
        case .stream(let failure): failure.description
        case .timedOut: "no answer in time"
        case .malformed(let reason): reason
        case .status(let status): "it \(RelayCrowding(rawValue: status)?.words ?? "answered HTTP status \(status)")"
        case .badRecord: "its record was not signed by that node"
        }
    }
}
