import MewWire
import Synchronization

/// What one device may make us keep, in all its connections together. One connection is bounded by itself
/// (`ConnectionAllowance`), but a device may have a thousand.
final class DeviceAllowance: Sendable {
    /// Beginnings of messages, and frames that wait to be read: eight of the largest messages. A device whose screens keep up
    /// has a few kilobytes of either.
    static let maxBytes = 64 << 20
    /// Session channels. Each may have 256 KiB on their way in the transport besides.
    static let maxChannels = 1_024

    let bytes = ByteBudget(maxBytes: maxBytes)
    private let channels = Mutex(0)

    /// False when there are too many already; otherwise `closeChannel` must follow.
    func openChannel() -> Bool {
        channels.withLock { channels in
            guard channels < Self.maxChannels else { return false }
            channels += 1
            return true
        }
    }

    func closeChannel() {
        channels.withLock { $0 -= 1 }
    }
}
