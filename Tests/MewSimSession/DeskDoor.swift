internal import MewBase
internal import MewIdentity
internal import MewSim
internal import MewWire

/// Where the daemon takes its connections from. What a device has sent on a stream that is held reaches the daemon when the hold
/// is over, also when the device has left that channel, made a new connection or was started anew: as what lies in a stream that
/// a daemon does not get to read, because it waits for its disk or for the device to read its answers.
///
/// Through a door that is broken (`DaemonFault`) the daemon seems to break a promise.
final class DeskDoor: LinkListener, Sendable {
    private let listener: any LinkListener
    private let holds: StreamHolds
    private let broken: BrokenDaemon?

    init(_ listener: any LinkListener, holds: StreamHolds, broken: BrokenDaemon?) {
        (self.listener, self.holds, self.broken) = (listener, holds, broken)
    }

    func acceptLink() async -> (any IncomingLink)? {
        await listener.acceptLink().map { DoorLink($0, holds: holds, broken: broken) }
    }
}

private struct DoorLink: IncomingLink {
    private let link: any IncomingLink
    private let holds: StreamHolds
    private let broken: BrokenDaemon?
    /// The first channel is control (spec/native-wire.md §1).
    private let hasControl = Shared(false)

    init(_ link: any IncomingLink, holds: StreamHolds, broken: BrokenDaemon?) {
        (self.link, self.holds, self.broken) = (link, holds, broken)
    }

    func acceptChannel() async -> (any MessageChannel)? {
        guard let channel = await link.acceptChannel() else { return nil }
        defer { hasControl.value = true }
        let stream = holds.opens(for: link.peer, isControl: !hasControl.value)
        return DoorChannel(channel, stream, holds: holds, broken: broken)
    }

    // MARK: As it is

    var peer: NodeID { link.peer }
    var applicationProtocol: ApplicationProtocol { link.applicationProtocol }

    func openChannel() async throws(ChannelError) -> any MessageChannel { try await link.openChannel() }

    func export(label: String, byteCount: Int) async throws(ChannelError) -> [UInt8] {
        try await link.export(label: label, byteCount: byteCount)
    }

    func close(code: CloseCode, reason: String) async { await link.close(code: code, reason: reason) }
    func closed() async -> LinkClosure? { await link.closed() }
    func status() async -> LinkStatus { await link.status() }

    func status(when isEnough: @escaping @Sendable (LinkStatus) -> Bool) async -> LinkStatus {
        await link.status(when: isEnough)
    }

    func learned(addresses: [SocketAddress], relays: [String]) async {
        await link.learned(addresses: addresses, relays: relays)
    }

    func authorize(charging budget: ByteBudget) async { await link.authorize(charging: budget) }
    func recognize() async { await link.recognize() }
    func keepWaiting() async { await link.keepWaiting() }

    func observeMoves(_ observer: @escaping @Sendable (LinkMove) -> Void) async { await link.observeMoves(observer) }
}

private struct DoorChannel: MessageChannel {
    private let channel: any MessageChannel
    private let stream: StreamHolds.Stream
    private let holds: StreamHolds
    private let broken: BrokenDaemon?
    private let isGreeted = Shared(false)

    init(_ channel: any MessageChannel, _ stream: StreamHolds.Stream, holds: StreamHolds, broken: BrokenDaemon?) {
        (self.channel, self.stream, self.holds, self.broken) = (channel, stream, holds, broken)
    }

    func receive() async throws(ChannelError) -> [UInt8]? {
        let message: [UInt8]?
        do throws(ChannelError) {
            message = try await channel.receive()
        } catch {
            holds.closes(stream)
            throw error
        }
        // The hello of a connection always comes through, or nothing of it would.
        if !stream.isControl || isGreeted.value { await holds.waitWhileHeld(stream) }
        isGreeted.value = true
        // The machine was killed.
        if Task.isCancelled { throw .cancelled }
        guard let message else {
            holds.closes(stream)
            return nil
        }
        guard let broken else { return message }
        return await broken.takes(message, from: stream.device)
    }

    func send(_ message: [UInt8]) async throws(ChannelError) { try await channel.send(message) }
    func finish() async { await channel.finish() }
    func reset(code: UInt64) async { await channel.reset(code: code) }
}
