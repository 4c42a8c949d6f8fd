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

    /// What a stranger may make us parse: the 64 KiB of DESIGN §5, and a hello has a dozen values.
    private static let strangerLimits = JSON.Limits(maxBytes: 64 << 10, maxNesting: 8, maxValues: 256)

    // MARK: The first channel

    /// Its end ends the connection.
    func serveFirst(_ channel: any MessageChannel) async {
        await readFirst(channel)
        // What was answered last is still on its way; a peer that is done closes the link itself.
        await channel.finish()
        await close(.done, "the first channel has ended", hasLastWords: true)
    }

    private func readFirst(_ channel: any MessageChannel) async {
        guard let bytes = await receive(from: channel) else { return firstChannelEnded() }
        let decoded = ClientFrame.decode(
            bytes, from: link.applicationProtocol, limits: isStranger ? Self.strangerLimits : .wire)
        guard await greeted(await greeting(of: decoded)), let client = control else { return }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.send(from: client, to: channel) }
            // A hello has been answered by now; anything else is still to be handled.
            if !decoded.isHello { await handle(decoded, from: client) }
            while isReady, let bytes = await receive(from: channel) {
                await handle(ClientFrame.decode(bytes, from: link.applicationProtocol), from: client)
                await client.waitForRoom()
            }
            client.end()
            await daemon.sessions.remove(client)
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
                capabilities: (Admission.mandatoryCapabilities + Admission.optionalCapabilities).filter(
                    (hello.capabilities ?? []).contains),
                asksToPair: hello.pair == true))
    }

    // MARK: Session channels

    /// FIN is detach; detaching ends nothing else.
    func serveSession(_ channel: any MessageChannel) async {
        guard await mayEnter(), let device, let bytes = allowance else {
            return await channel.reset(code: FramingCode.violation)
        }
        sessionChannels += 1
        defer { sessionChannels -= 1 }
        guard sessionChannels <= Self.maxSessionChannels else {
            return await close(.protocolViolation, "more than \(Self.maxSessionChannels) channels are open")
        }
        let allowance = await daemon.allowance(of: device.node)
        guard allowance.openChannel() else {
            return await close(.protocolViolation, "this device has too many channels open")
        }
        defer { allowance.closeChannel() }
        let client = await daemon.client(.session, of: device, within: bytes, capabilities: offered)
        await withDiscardingTaskGroup { group in
            group.addTask {
                await self.send(from: client, to: channel)
                await channel.finish()
            }
            while isReady, let bytes = await receive(from: channel) {
                await handle(ClientFrame.decode(bytes, from: .native), from: client)
                await client.waitForRoom()
            }
            await daemon.sessions.remove(client)
            client.end()
        }
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
        switch link.applicationProtocol {
        case .native: await channel.reset(code: FramingCode.violation)
        // The channel has said why in its own words, which a reset would take back, and there will be no other channel.
        case .stock: await close(.protocolViolation, sentence, hasLastWords: true)
        }
    }

    /// Ends with the client's queue or with the channel.
    private func send(from client: SessionClient, to channel: any MessageChannel) async {
        await sendAll(from: client, to: channel)
        guard client.isOverdrawn else { return }
        await close(.protocolViolation, "too much waits for this device, and it does not read")
    }

    /// Of frames that are written together; a larger frame goes alone. More would only wait in the stream.
    private static let batchBytes = 16 << 10

    private func sendAll(from client: SessionClient, to channel: any MessageChannel) async {
        while let frames = await client.batch(maxBytes: Self.batchBytes) {
            do throws(ChannelError) {
                try await channel.sendAll(frames)
            } catch .tooLarge(let bytes) {
                // Ours to prevent; but one frame that no peer would take must not cost it all the others.
                daemon.note(
                    .error, "frame_too_large", "a message of \(bytes) bytes fits no frame and is left out", of: self)
            } catch {
                // The reader learns the same and ends; what is still queued has nobody to read it.
                return client.end()
            }
        }
    }
}

extension Decoded<ClientFrame, ClientFrame.Envelope> {
    fileprivate var isHello: Bool {
        guard case .decoded(let frame) = self, case .remoteHello = frame.message else { return false }
        return true
    }
}
