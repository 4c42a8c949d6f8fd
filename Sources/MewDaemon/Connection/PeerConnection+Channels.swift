import MewBase
import MewIdentity
import MewSession
import MewWire

// The channels of one connection (spec/native-wire.md §1): the first one, which on a stock link is all there is, and the
// session channels of a native link. Each has one reader and one sender; requests of a channel are handled in order.

extension PeerConnection {
    /// Channels of one connection, told in `remote_ready`. A person has a few sessions open; the bound is on what a paired
    /// but hostile device can make us hold.
    static let maxSessionChannels = 64

    // MARK: The first channel

    /// Its end ends the connection.
    func serveFirst(_ channel: any MessageChannel, _ outbox: Outbox) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.send(from: outbox, to: channel, attachment: { await self.stockAttachment }) }
            await readFirst(channel, outbox)
            await stockAttachment?.detach()
            stockAttachment = nil
            outbox.finish()
        }
        await close(.done, "the first channel has ended")
    }

    private func readFirst(_ channel: any MessageChannel, _ outbox: Outbox) async {
        guard let bytes = await receive(from: channel) else { return firstChannelEnded() }
        let decoded = ClientFrame.decode(bytes, from: link.applicationProtocol)
        guard await greeted(greeting(of: decoded)) else { return }
        // A hello has been answered with `remote_ready` by now; anything else is still to be handled.
        if case .decoded(let frame) = decoded, case .remoteHello = frame.message {
        } else {
            await handle(decoded, on: outbox)
        }
        while let bytes = await receive(from: channel), isReady {
            await handle(ClientFrame.decode(bytes, from: link.applicationProtocol), on: outbox)
            await outbox.room()
        }
    }

    private func greeting(of decoded: Decoded<ClientFrame, ClientFrame.Envelope>) async -> Admission.Greeting {
        guard case .decoded(let frame) = decoded else { return .undecodable }
        guard case .remoteHello(let hello) = frame.message else { return .otherMessage }
        app = hello.app?.printable(limit: 64)
        let code = hello.token.flatMap { PairingDigest(bytes: PairingToken.digest(of: $0)) }
        return .hello(
            .init(
                name: hello.deviceName.printableName, code: code, codeIsLive: await daemon.accepts(code),
                capabilities: hello.capabilities ?? []))
    }

    // MARK: Session channels

    func serveSession(_ channel: any MessageChannel) async {
        guard await mayEnter() else { return await channel.reset(code: FramingCode.violation) }
        sessionChannels += 1
        defer { sessionChannels -= 1 }
        guard sessionChannels <= Self.maxSessionChannels else {
            return await close(.protocolViolation, "more than \(Self.maxSessionChannels) channels are open")
        }
        let outbox = Outbox(link: .native)
        await withDiscardingTaskGroup { group in
            group.addTask { await self.send(from: outbox, to: channel, attachment: { nil }) }
            await readSession(channel, outbox)
            outbox.finish()
        }
        await channel.finish()
    }

    /// FIN is detach; detaching ends nothing else.
    private func readSession(_ channel: any MessageChannel, _ outbox: Outbox) async {
        var attachment: (any SessionAttachment)?
        while let bytes = await receive(from: channel), isReady {
            let decoded = ClientFrame.decode(bytes, from: .native)
            if let request = check(decoded, at: attachment == nil ? .newChannel : .sessionChannel, outbox) {
                if let attached = attachment {
                    await attached.receive(request)
                } else {
                    attachment = await attach(request, outbox, replacing: nil)
                }
            }
            await outbox.room()
        }
        await attachment?.detach()
    }

    // MARK: Both kinds

    /// The next message; nil at the end of the channel, however it ended.
    private func receive(from channel: any MessageChannel) async -> [UInt8]? {
        do throws(ChannelError) {
            return try await channel.receive()
        } catch {
            switch error {
            case .protocolViolation(let sentence): await refuse(channel, sentence)
            case .tooLarge(let bytes): await refuse(channel, "a message of \(bytes) bytes is too large")
            case .reset, .linkClosed, .finished, .cancelled: break
            }
            return nil
        }
    }

    private func refuse(_ channel: any MessageChannel, _ sentence: String) async {
        daemon.note(.warning, "framing_violation", "a channel broke the framing rules: \(sentence)", of: self)
        await channel.reset(code: FramingCode.violation)
    }

    /// Ends with the outbox or with the channel.
    private func send(
        from outbox: Outbox, to channel: any MessageChannel,
        attachment: @Sendable () async -> (any SessionAttachment)?
    ) async {
        while let frame = await outbox.next() {
            do throws(ChannelError) {
                try await channel.send(frame)
            } catch {
                // The reader learns the same and ends; what is still queued has nobody to read it.
                return
            }
            if outbox.takeGap() { await tellAfresh(outbox, await attachment()) }
        }
    }

    /// What was dropped for a slow client, in the shortest form that makes its screen right again. A native session channel
    /// asks for it with `resume_session` instead.
    private func tellAfresh(_ outbox: Outbox, _ attachment: (any SessionAttachment)?) async {
        guard outbox === first?.outbox, let requester else { return }
        outbox.resume()
        await daemon.sessions.answer(ClientFrame(.listSessions), from: requester, into: outbox)
        await attachment?.refresh()
    }
}
