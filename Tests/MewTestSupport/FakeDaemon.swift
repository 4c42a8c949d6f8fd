import MewBase
import MewIdentity
package import MewWire

/// The daemon's end of one link, spoken by a test line by line.
package struct FakeLink: Sendable {
    package let link: any IncomingLink
    package let control: FakeChannel

    /// The next link of `listener`, with its control channel.
    package static func accept(on listener: any LinkListener) async throws -> FakeLink {
        guard let link = await listener.acceptLink() else { throw FakeDaemonError("no link") }
        guard let channel = await link.acceptChannel() else { throw FakeDaemonError("no control channel") }
        return FakeLink(
            link: link, control: FakeChannel(channel: channel, applicationProtocol: link.applicationProtocol))
    }

    package var native: Bool { link.applicationProtocol == .native }

    /// Takes the hello and answers it as a daemon that knows the device.
    ///
    /// - Parameter optional: what the daemon can do beyond what it must.
    @discardableResult
    package func welcome(version: String = "9.9", optional: [String] = []) async throws -> ClientMessage.RemoteHello {
        guard case .remoteHello(let hello) = try await control.receive().message else {
            throw FakeDaemonError("no hello")
        }
        try await control.send(
            .remoteReady(
                DaemonMessage.RemoteReady(
                    scope: .control, capabilities: native ? ["ops", "resume", "desk"] + optional : nil,
                    you: native ? DaemonMessage.You(name: "me", scope: .control) : nil)))
        guard case .ping = try await control.receive().message else { throw FakeDaemonError("no ping") }
        // A client that got what it wanted may be gone already.
        try? await control.send(.pong(DaemonMessage.Pong(version: version)))
        return hello
    }

    /// Takes the hello; whether it asks to be let in.
    package func asksToPair() async throws -> Bool? {
        guard case .remoteHello(let hello) = try await control.receive().message else {
            throw FakeDaemonError("no hello")
        }
        return hello.pair
    }

    /// The next session channel.
    package func channel() async throws -> FakeChannel {
        guard let channel = await link.acceptChannel() else { throw FakeDaemonError("no channel") }
        return FakeChannel(channel: channel, applicationProtocol: link.applicationProtocol)
    }

    /// The next one, when what it asks for has been read.
    package func askedChannel() async throws -> FakeChannel {
        let asked = try await channel()
        _ = try await asked.receive()
        return asked
    }
}

package struct FakeChannel: Sendable {
    package let channel: any MessageChannel
    package let applicationProtocol: ApplicationProtocol

    package func receive() async throws -> ClientFrame {
        guard let bytes = try await channel.receive() else { throw FakeDaemonError("the client ended the channel") }
        guard case .decoded(let frame) = ClientFrame.decode(bytes, from: applicationProtocol) else {
            throw FakeDaemonError("not a frame: \(String(decoding: bytes, as: UTF8.self))")
        }
        return frame
    }

    package func send(
        _ message: DaemonMessage, session: SessionID? = nil, seq: UInt64? = nil, ref: String? = nil
    ) async throws {
        let frame = DaemonFrame(message, sessionID: session, sequence: seq.map { SequenceNumber($0) }, ref: ref)
        guard let bytes = frame.encoded(for: applicationProtocol) else {
            throw FakeDaemonError("no such message on this link")
        }
        try await channel.send(bytes)
    }

    package func send(text: String) async throws { try await channel.send(Array(text.utf8)) }

    /// Plays an attach of a session without history: ready, caught up.
    package func attach(_ id: SessionID, epoch: Epoch? = nil, head: UInt64 = 0, resume: ResumeKind = .snapshot)
        async throws
    {
        try await send(
            .sessionReady(
                DaemonMessage.SessionReady(
                    sessionID: id, epoch: epoch, headSequence: SequenceNumber(head), resume: resume)))
        if resume == .snapshot {
            try await send(
                .sessionHistoryPage(
                    DaemonMessage.SessionHistoryPage(
                        sessionID: id, messages: [], replaces: true, asOfSequence: SequenceNumber(head))))
        }
        try await send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: SequenceNumber(head))))
    }

    package func receipt(
        _ operation: OperationID, _ state: ReceiptState, turn: TurnID? = nil, result: TurnResult? = nil,
        code: ErrorCode? = nil, message: String? = nil, ref: String? = nil
    ) async throws {
        try await send(
            .receipt(
                DaemonMessage.Receipt(
                    operation: operation, state: state, isRepeat: false, turnID: turn, result: result, code: code,
                    message: message, at: WallTime(milliseconds: 1))),
            ref: ref)
    }

    /// Says who types in the session.
    package func lease(of session: SessionID, _ holder: By?) async throws {
        try await send(.leaseState(.init(kind: .input, target: session.text, holder: holder)), session: session)
    }
}

package struct FakeDaemonError: Error {
    package let what: String
    package init(_ what: String) { self.what = what }
}
