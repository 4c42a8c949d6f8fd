/// One stream: what waits to be sent, what waits to be read, and how each direction ended.
///
/// A class because the C library hands it back as a pointer with every frame, which saves a table lookup there
/// (spec/swift-notes.md §5). Owned by its connection; touched only on the connection's thread.
package final class StreamCore {
    package let id: Int64

    /// The sending direction.
    package enum Sending: Equatable {
        case open
        /// Our end is decided; the end mark travels behind the last byte.
        case finishing
        /// The end mark was handed to the library, which repeats it until it is acknowledged.
        case finished
        /// We gave up with this code.
        case reset(code: UInt64)
        /// The peer asked us to stop. The library answers that by itself and says so at our next attempt to send.
        case stopped
    }

    /// The receiving direction.
    package enum Receiving: Equatable {
        case open
        /// The peer's last byte has arrived; it may still be unread.
        case ended
        /// The peer gave up with this code.
        case reset(code: UInt64)
        /// We asked the peer to stop.
        case stopped
    }

    package internal(set) var sending = Sending.open
    package internal(set) var receiving = Receiving.open

    let send = SendBuffer()
    let receive = ReceiveBuffer()

    /// In the queue of streams with something to send.
    var isQueued = false
    /// The peer's window for this stream is used up; set until it grows.
    var isBlocked = false
    /// A `readable` event was issued and nothing was read since.
    var isReadableSignalled = false
    /// A writer was told to wait; it gets a `writable` event.
    package internal(set) var hasWaitingWriter = false
    /// The library has forgotten the stream: both directions are over.
    package internal(set) var isClosed = false
    /// The application has let go of it.
    var isReleased = false

    init(id: Int64) {
        self.id = id
    }

    /// Low bits of a stream ID (RFC 9000 §2.1).
    package var isBidirectional: Bool { id & 2 == 0 }
    package var isClientInitiated: Bool { id & 1 == 0 }

    /// The oldest unread bytes of a stream whose connection is gone: nobody is to be credited.
    package func takeUnread() -> [UInt8]? { receive.take() }

    package var unreadBytes: Int { receive.byteCount }
    package var unsentBytes: Int { send.unsentBytes }
    package var retainedBytes: Int { send.retainedBytes }

    /// The end mark is due and was not handed over yet.
    var wantsFinish: Bool { sending == .finishing }

    var hasSomethingToSend: Bool {
        switch sending {
        case .open: send.unsentBytes > 0
        case .finishing: true
        case .finished, .reset, .stopped: false
        }
    }
}
