/// The numbers of one connection, each with its reason.
package struct TransportConfiguration: Sendable {
    package enum CongestionControl: Sendable { case cubic, bbr }

    /// CUBIC is what the rest of the Internet runs; BBR carries several times more on lossy paths but its fairness is not
    /// shown yet.
    package var congestionControl = CongestionControl.cubic

    /// Effective is the smaller of both sides' values; iroh sends 30 s too (spec/iroh-wire.md §2.3).
    package var idleTimeout = Duration.seconds(30)

    /// Shorter than a third of the idle time-out, so that two lost ones do no harm, and shorter than the 30 s after which
    /// the worst NATs forget a mapping.
    package var keepAlive = Duration.seconds(8)

    /// A peer that was talking and pauses for so long is asked whether it is still there, and again after twice that time
    /// (`PauseWatch`): long enough that talk is not all questions, and short enough that data flows again within 5 s of whatever cut it off.
    package var askAfterPause = Duration.seconds(1)

    /// A stranger that has not proved its key by then is dropped (DESIGN §5).
    package var handshakeTimeout = Duration.seconds(10)

    /// Unread bytes that one stream may hold at first. The library grows it up to `maxStreamWindow` when the application
    /// reads as fast as they come.
    package var streamWindow: UInt64 = 256 << 10

    /// 8 MiB carry 200 Mbit/s over 300 ms; a reader that stops costs at most this much per stream.
    package var maxStreamWindow: UInt64 = 8 << 20

    /// Unread bytes of all streams together.
    package var connectionWindow: UInt64 = 1 << 20
    package var maxConnectionWindow: UInt64 = 16 << 20

    /// The same of a connection that was accepted: a listener has many, and promises 32 MB for each in all. With the allowance
    /// of a daemon's connection (10 MiB), words of its device that wait (2 MiB) and what 64 channels hold until it is acknowledged (10 MiB at most, below) this is 30 MiB,
    /// or 31.5 MB.
    package var maxAcceptedWindow: UInt64 = 8 << 20

    /// What a peer that is not yet authorized may send in all (DESIGN §5).
    package var unauthorizedWindow: UInt64 = 64 << 10

    /// Streams a peer may have open at once; iroh allows 100.
    package var bidirectionalStreams: UInt64 = 100
    package var unidirectionalStreams: UInt64 = 0

    /// Streams a peer that is not yet authorized may open (DESIGN §5).
    package var unauthorizedStreams: UInt64 = 1
    package var unauthorizedUnidirectionalStreams: UInt64 = 0

    /// Bytes one stream holds that were never sent: a writer waits beyond it. Four slabs keep the packet writer busy while
    /// the writing task is resumed.
    package var unsentBytesPerStream = 256 << 10

    /// The same of all streams of a connection that was accepted: eight streams with as much as one may hold. A total and no
    /// smaller bound for each, because one stream alone is then as fast as ever. A writer beyond it waits until others have sent.
    package var unsentBytesPerAcceptedConnection = 2 << 20

    /// What every stream may hold although the total is used up: streams whose peer does not read them must not keep the others
    /// from sending. 32 KiB fill twenty packets; 64 channels, eight of them full, hold 3.75 MiB in all.
    package var unsentBytesAssured = 32 << 10

    /// Bytes one stream holds until they are acknowledged, sent or not. The peer's window and the congestion window bound
    /// it first; this is for a peer that advertises an absurd window.
    package var retainedBytesPerStream = 16 << 20

    /// The same of all streams of a connection that was accepted. Neither window is a bound there: the peer names the one, and
    /// a peer that acknowledges all but the first packet of each stream opens the other while nothing may be forgotten. With
    /// 2 MiB of it unsent, 6 MiB under way carry 160 Mbit/s over 300 ms. A writer beyond it waits for acknowledgements, but for
    /// `unsentBytesAssured` of its stream: 64 channels hold 10 MiB in all, a hundred streams 11.1 MiB.
    package var retainedBytesPerAcceptedConnection = 8 << 20

    /// Datagrams waiting in each direction; the oldest is dropped beyond it. They are for data that is worthless when late.
    package var queuedDatagrams = 64

    /// Largest DATAGRAM frame we accept; zero refuses them (RFC 9221 §3).
    package var maxDatagramFrame: UInt64 = 65_535

    /// Enough that seven migrations in a row do not run dry (spec/iroh-wire.md §2.3).
    package var activeConnectionIDs: UInt64 = 8

    /// Largest UDP payload that path MTU discovery tries: 1500 bytes less an IPv6 and a UDP header.
    package var maxUDPPayload = 1_452

    /// What path MTU discovery tries, in this order, each up to three times: Ethernet, PPPoE, fibre in Japan, common
    /// tunnels, the smallest IPv6 MTU. Sizes are UDP payloads over IPv6.
    package var probedPayloads: [UInt16] = [1_452, 1_444, 1_406, 1_342, 1_232]

    package init() {}
}
