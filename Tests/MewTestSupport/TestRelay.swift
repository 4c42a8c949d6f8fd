package import MewIdentity
import MewLoop
package import MewRelay
package import MewWire

import MewBase
import Synchronization

/// A small relay inside the test: admits whoever answers its challenge, forwards datagrams, answers pings. Everything happens
/// within the write of a client, so it needs no thread and works in simulated worlds as well.
///
/// `@unchecked Sendable`: everything below `lock` is touched while it is held only.
package final class TestRelay: RelayConnector, @unchecked Sendable {
    private let lock = Mutex(())
    private var clients: [Client] = []
    private var isDown = false
    private var isMute = false
    private var forwardedCount = 0
    private var kept = TestRelayRecords()
    private var requestCount = 0
    private var list: Set<NodeID>?
    private var refusalCount = 0

    package init() {}

    package static let url: RelayURL = {
        guard let url = try? RelayURL("http://relay.test/") else { preconditionFailure("a URL") }
        return url
    }()

    // MARK: What a test sees and does

    /// Datagrams that found their receiver.
    package var forwarded: Int { lock.withLock { _ in forwardedCount } }

    /// The nodes that are connected, in the order in which they came.
    package var nodes: [NodeID] { lock.withLock { _ in clients.compactMap(\.node) } }

    /// Connections that are open, whoever has them.
    package var clientCount: Int { lock.withLock { _ in clients.count } }

    /// Connections that were asked for.
    package var requests: Int { lock.withLock { _ in requestCount } }

    /// The record of `node` that is kept here; a test may put one there.
    package subscript(record node: NodeID) -> SignedRecord? {
        get { lock.withLock { _ in kept[node] } }
        set { lock.withLock { _ in kept[node] = newValue } }
    }

    /// Ends all connections and takes no new ones, or takes them again.
    package func set(down: Bool) {
        lock.withLock { _ in
            isDown = down
            guard down else { return }
            for client in clients { client.end() }
            clients = []
        }
    }

    /// Swallows everything from now on, or works again.
    package func set(mute: Bool) {
        lock.withLock { _ in isMute = mute }
    }

    /// Serves these nodes, as a relay of others does: it knows them by the key they come under.
    package func serve(only nodes: Set<NodeID>?) {
        lock.withLock { _ in list = nodes }
    }

    /// Clients that were not served.
    package var refusals: Int { lock.withLock { _ in refusalCount } }

    /// Says this to all clients.
    package func tell(_ frame: RelayFrame) {
        lock.withLock { _ in for client in clients { client.send(frame) } }
    }

    // MARK: RelayConnector

    package func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
        let client: Client? = lock.withLock { _ in
            requestCount += 1
            guard !isDown else { return nil }
            let client = Client()
            clients.append(client)
            return client
        }
        guard let client else { throw .system(SystemError(errno: 111, doing: "connecting to the test's relay")) }
        return TestRelayStream(relay: self, client: client)
    }

    // MARK: The relay

    fileprivate func received(_ bytes: [UInt8], from client: Client) throws(StreamFailure) {
        let isOpen = lock.withLock { _ in
            guard !client.isEnded else { return false }
            if !isMute { take(bytes, from: client) }
            return true
        }
        if !isOpen { throw .closed }
    }

    private func take(_ bytes: [UInt8], from client: Client) {
        guard let framing = client.framing else { return upgrade(bytes, client) }
        framing.receive(bytes)
        while case .message(let message)? = try? framing.next() {
            guard let frame = try? RelayFrame.decode(message) else { return client.end() }
            handle(frame, from: client)
        }
    }

    private func upgrade(_ bytes: [UInt8], _ client: Client) {
        client.head += bytes
        guard case .head(let request, let byteCount) = HTTPRequest.parse(client.head) else { return }
        guard request.path == "/relay" else {
            // A whole request comes in one write here.
            client.push(kept.answer(request, Array(client.head[byteCount...])))
            return client.end()
        }
        let key = request.fields["sec-websocket-key"] ?? ""
        client.push(
            HTTPResponse(
                101,
                [
                    "upgrade": "websocket", "connection": "upgrade", "sec-websocket-accept": WebSocketKey.accept(key),
                    "sec-websocket-protocol": RelayVersion.v2.rawValue,
                ]
            ).encoded)
        client.framing = WebSocketFraming(role: .server, kind: .binary, entropy: SystemEntropy())
        client.send(.serverChallenge(client.challenge))
    }

    private func handle(_ frame: RelayFrame, from client: Client) {
        switch frame {
        case .clientAuth(let auth) where auth.isValid(for: client.challenge):
            guard list?.contains(auth.node) ?? true else {
                refusalCount += 1
                client.send(.serverDeniesAuth(reason: "not authorized"))
                return client.end()
            }
            client.node = auth.node
            client.send(.serverConfirmsAuth)
        case .ping(let value): client.send(.pong(value))
        case .clientToRelay(let datagrams): forward(datagrams, from: client)
        default: break
        }
    }

    private func forward(_ datagrams: RelayDatagrams, from client: Client) {
        // The newest connection of a node gets its packets.
        guard let sender = client.node else { return }
        guard let receiver = clients.last(where: { $0.node == datagrams.peer }) else {
            return client.send(.endpointGone(datagrams.peer))
        }
        forwardedCount += 1
        receiver.send(
            .relayToClient(
                RelayDatagrams(
                    peer: sender, ecn: datagrams.ecn, segmentSize: datagrams.segmentSize,
                    contents: datagrams.contents)))
    }

    fileprivate func read(_ client: Client) async -> [UInt8]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                lock.withLock { _ in client.wait(continuation, isCancelled: Task.isCancelled) }
            }
        } onCancel: {
            lock.withLock { _ in client.wake() }
        }
    }

    fileprivate func close(_ client: Client) {
        lock.withLock { _ in
            client.end()
            clients.removeAll { $0 === client }
        }
    }
}

/// One client of a test's relay. Touched while the relay's lock is held only.
private final class Client: @unchecked Sendable {
    var head: [UInt8] = []
    var framing: WebSocketFraming?
    let challenge = RelayChallenge(entropy: SystemEntropy())
    var node: NodeID?
    private(set) var isEnded = false
    private var output: [UInt8] = []
    private var reader: CheckedContinuation<[UInt8]?, Never>?

    func send(_ frame: RelayFrame) {
        guard let bytes = try? framing?.encode(frame.encoded) else { return }
        push(bytes)
    }

    func push(_ bytes: [UInt8]) {
        output += bytes
        wake()
    }

    func end() {
        isEnded = true
        wake()
    }

    func wait(_ continuation: CheckedContinuation<[UInt8]?, Never>, isCancelled: Bool) {
        reader = continuation
        if isCancelled || isEnded || !output.isEmpty { wake() }
    }

    /// Gives the reader what there is; nil at the end, and when it was cancelled.
    func wake() {
        let waiting = reader
        reader = nil
        guard let waiting else { return }
        waiting.resume(returning: output.isEmpty ? nil : output)
        output = []
    }
}

private struct TestRelayStream: BlockStream {
    let relay: TestRelay
    let client: Client

    func read(maxBytes: Int) async throws(StreamFailure) -> [UInt8]? {
        await relay.read(client)
    }

    func write(_ bytes: [UInt8]) async throws(StreamFailure) {
        try relay.received(bytes, from: client)
    }

    func close() async { relay.close(client) }
}
