import MewIdentity
import MewWire
import Synchronization

/// Dials links on which only so many channels can be opened.
struct ScarceDialer: Dialer {
    let dialer: any Dialer
    let channels: Int

    var node: NodeID { dialer.node }

    func dial(_ target: DialTarget) async throws(DialError) -> any Link {
        ScarceLink(try await dialer.dial(target), channels: channels)
    }
}

private final class ScarceLink: Link {
    private let link: any Link
    private let left: Mutex<Int>

    init(_ link: any Link, channels: Int) {
        self.link = link
        left = Mutex(channels)
    }

    var peer: NodeID { link.peer }
    var applicationProtocol: ApplicationProtocol { link.applicationProtocol }

    func openChannel() async throws(ChannelError) -> any MessageChannel {
        let isAllowed = left.withLock { left in
            left -= 1
            return left >= 0
        }
        guard isAllowed else {
            _ = await link.closed()
            throw .cancelled
        }
        return try await link.openChannel()
    }

    func acceptChannel() async -> (any MessageChannel)? { await link.acceptChannel() }

    func export(label: String, byteCount: Int) async throws(ChannelError) -> [UInt8] {
        try await link.export(label: label, byteCount: byteCount)
    }

    func close(code: CloseCode, reason: String) async { await link.close(code: code, reason: reason) }
    func closed() async -> LinkClosure? { await link.closed() }
    func status() async -> LinkStatus { await link.status() }
}

/// Dials links whose control channel says of every operation that sending it was broken off, and delivers it all the same.
struct CompletingDialer: Dialer {
    let dialer: any Dialer

    var node: NodeID { dialer.node }

    func dial(_ target: DialTarget) async throws(DialError) -> any Link {
        CompletingLink(link: try await dialer.dial(target))
    }
}

private struct CompletingLink: Link {
    let link: any Link

    var peer: NodeID { link.peer }
    var applicationProtocol: ApplicationProtocol { link.applicationProtocol }

    func openChannel() async throws(ChannelError) -> any MessageChannel {
        CompletingChannel(channel: try await link.openChannel())
    }

    func acceptChannel() async -> (any MessageChannel)? { await link.acceptChannel() }

    func export(label: String, byteCount: Int) async throws(ChannelError) -> [UInt8] {
        try await link.export(label: label, byteCount: byteCount)
    }

    func close(code: CloseCode, reason: String) async { await link.close(code: code, reason: reason) }
    func closed() async -> LinkClosure? { await link.closed() }
    func status() async -> LinkStatus { await link.status() }
}

private struct CompletingChannel: MessageChannel {
    let channel: any MessageChannel

    func receive() async throws(ChannelError) -> [UInt8]? { try await channel.receive() }

    func send(_ message: [UInt8]) async throws(ChannelError) {
        try await channel.send(message)
        if String(decoding: message, as: UTF8.self).contains("\"op_id\"") { throw .cancelled }
    }

    func finish() async { await channel.finish() }
    func reset(code: UInt64) async { await channel.reset(code: code) }
}
