import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// A native client that loses its link and comes back, as spec/native-wire.md wants it: the same operation ID for every
/// retry, `after_seq` for what it has, each question answered once.
///
/// Touched by one task.
final class PersistentClient {
    private let node: Node
    private let loop: any Loop
    private let target: DialTarget

    private(set) var session: SessionID?
    private var epoch: Epoch?
    private(set) var lastSequence = SequenceNumber.zero
    /// The journalled frames, in the order in which they came.
    private(set) var journal: [DaemonFrame] = []
    /// Numbers that came twice or left a hole.
    private(set) var faults: [String] = []
    private(set) var connections = 0
    private var isDone = false

    private static let create = OperationID(ULID(high: 1, low: 1))
    private static let prompt = OperationID(ULID(high: 1, low: 2))
    private static let answer = OperationID(ULID(high: 1, low: 3))

    init(_ node: Node, loop: any Loop, target: DialTarget) {
        (self.node, self.loop, self.target) = (node, loop, target)
    }

    /// Pairs, makes a session and prompts; comes back until the prompt is done.
    func run(token: String, text: String) async throws {
        var token: String? = token
        while !isDone {
            do {
                try await connect(token: token, text: text)
            } catch {
                // A link that is gone, or nobody there: dial again.
                try await LoopClock(loop).sleep(for: .seconds(1))
            }
            if connections > 0 { token = nil }
        }
    }

    private func connect(token: String?, text: String) async throws {
        let peer = TestPeer(link: try await node.dial(target))
        let control = try await peer.open()
        try await control.hello(token: token)
        guard case .remoteReady? = try await control.message() else { throw ChannelError.finished }
        connections += 1
        let channel = try await peer.open()
        if let session {
            try await channel.send(
                .attachSession(
                    .init(sessionID: session, clientKind: .cli, afterSequence: lastSequence, epoch: epoch)))
        } else {
            try await channel.send(.newSession(.init(clientKind: .cli)), operation: Self.create)
        }
        try await channel.send(.prompt(.init(text: text)), operation: Self.prompt)
        while !isDone, let frame = try await channel.receive() { try await react(to: frame, channel) }
        guard isDone else { throw ChannelError.finished }
        await peer.link.close(code: .done, reason: "")
        withExtendedLifetime(control) {}
    }

    private func react(to frame: DaemonFrame, _ channel: TestChannel) async throws {
        if let sequence = frame.sequence { take(frame, sequence) }
        switch frame.message {
        case .sessionReady(let ready): (session, epoch) = (ready.sessionID, ready.epoch)
        case .receipt(let receipt):
            if receipt.operation == Self.create { session = receipt.sessionID ?? session }
            if receipt.operation == Self.prompt, receipt.state == .done { isDone = true }
        case .request(let request):
            guard let shown = request.shown else { return faults.append("a request without shown") }
            let answer = Answer(
                requestID: request.id, content: .permission(.allowOnce),
                shownDigest: ShownDigest(of: shown, request: request.id))
            try await channel.send(.answer(answer), operation: Self.answer)
        default: break
        }
    }

    private func take(_ frame: DaemonFrame, _ sequence: SequenceNumber) {
        if sequence != lastSequence.next { faults.append("\(sequence) after \(lastSequence)") }
        lastSequence = sequence
        journal.append(frame)
    }
}
