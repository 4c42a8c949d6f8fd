import MewBase
import MewHTTP3
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewTestSupport
import MewWire
import Testing

@testable import MewRelay

/// Somebody who has said nothing about himself, and asks.
private actor Asker {
    private final class Handler: DirectHandler {
        let pump: HTTP3Pump
        /// Called with all that was answered on a stream, or nil when the connection is over.
        var onAnswer: ((Int64, HTTP3Head?, [UInt8])?) -> Void = { _ in }
        private var heads: [Int64: HTTP3Head] = [:]
        private var bodies: [Int64: [UInt8]] = [:]

        init(_ pump: HTTP3Pump) {
            self.pump = pump
        }

        func established() {}
        func writable(_ stream: Int64) { pump.unblock(stream) }
        func received(datagram: UnsafeRawBufferPointer) {}
        func ended(_ closure: QUICClosure) { onAnswer(nil) }

        func readable(_ stream: Int64) {
            pump.read(stream)
            for event in pump.core.takeEvents() {
                switch event {
                case .head(let stream, let head): heads[stream] = head
                case .data(let stream, let bytes): bodies[stream, default: []] += bytes
                case .ended(let stream): onAnswer((stream, heads[stream], bodies[stream] ?? []))
                case .settings, .headTooLarge, .broken, .goingAway: break
                }
            }
            pump.flush()
        }
    }

    struct Ended: Error {}

    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: EventLoop
    private var handler: Handler?
    private var waiting: CheckedContinuation<(HTTP3Head?, [UInt8])?, Never>?

    init(_ stage: HTTP3Stage) async throws {
        loop = stage.loop
        unownedExecutor = stage.loop.asUnownedSerialExecutor()
        let handle = try await stage.connect()
        try await begin(handle)
    }

    private func begin(_ handle: DirectConnection.Handle) async throws {
        let pump = try HTTP3Pump(.client, over: handle.connection)
        try #require(pump.start())
        let handler = Handler(pump)
        handler.onAnswer = { answer in
            let answer = answer.map { ($0.1, $0.2) }
            self.assumeIsolated { $0.answered(answer) }
        }
        handle.connection.attach(handler)
        self.handler = handler
    }

    private func answered(_ answer: (HTTP3Head?, [UInt8])?) {
        waiting?.resume(returning: answer)
        waiting = nil
    }

    /// The status and the content of the answer.
    func ask(_ method: String, _ path: String, _ body: [UInt8] = []) async throws -> (status: Int, body: [UInt8]) {
        guard let handler, let stream = handler.pump.connection.openStream(.bidirectional) else { throw Ended() }
        let head = HTTP3Head([
            (":method", method), (":scheme", "https"), (":authority", "relay.test"), (":path", path),
        ])
        let pump = handler.pump
        pump.perform { () throws(HTTP3Failure) in
            try pump.core.request(head, on: stream, staysOpen: !body.isEmpty)
            if !body.isEmpty {
                _ = try pump.core.send(body, on: stream)
                try pump.core.finish(stream)
            }
        }
        pump.flush()
        guard let answer = await withCheckedContinuation({ waiting = $0 }), let status = answer.0?.status else {
            throw Ended()
        }
        return (status, answer.1)
    }

    func close() { handler?.pump.connection.close(code: HTTP3Failure.noError, reason: "") }
}

@Suite("Who asks a relay over HTTP/3 and is nobody")
struct HTTP3AnonymousTests {
    @Test("hears whether it is there, and nothing about who uses it")
    func questions() async throws {
        try await HTTP3Stage.run { stage in
            let asker = try await Asker(stage)
            #expect(try await asker.ask("GET", "/ping").status == 200)
            let health = try await asker.ask("GET", "/healthz")
            #expect(health.status == 200)
            #expect(String(decoding: health.body, as: UTF8.self).contains("\"1.2.3\""))
            for path in ["/metrics", "/", "/relay", "/pingx", "/generate_204"] {
                #expect(try await asker.ask("GET", path).status == 404, "\(path)")
            }
            await asker.close()
        }
    }

    @Test("stores a signed record and reads it, as over HTTP/1.1; one that is too large is refused")
    func records() async throws {
        try await HTTP3Stage.run { stage in
            let asker = try await Asker(stage)
            let path = "/pkarr/\(try key(1).node.z32)"
            #expect(try await asker.ask("GET", path).status == 404)
            let record = SignedRecord(AddressRecord(relays: []), timestamp: 1, secret: try key(1))
            #expect(try await asker.ask("PUT", path, record.body).status == 204)
            let read = try await asker.ask("GET", path)
            #expect(read.status == 200 && read.body == record.body)
            #expect(try await asker.ask("PUT", path, [UInt8](repeating: 1, count: 5_000)).status == 413)
            #expect(try await asker.ask("PUT", path, [1, 2, 3]).status == 400)
            await asker.close()
        }
    }
}
