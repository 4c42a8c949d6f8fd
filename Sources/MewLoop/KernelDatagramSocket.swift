internal import CSys
package import MewBase

/// The kernel's UDP sockets. The loops they are bound on must be `EventLoop`s.
package struct KernelNetwork: DatagramNetwork {
    /// Things that a kernel or network card may lack; tests take them away to see that we manage without.
    package struct Missing: OptionSet, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Kernels before 4.18: no batch of packets in one message.
        package static let segmentation = Missing(rawValue: UInt32(CSYS_UDP_NO_SEGMENT))
        /// Kernels before 5.0: no coalesced receive.
        package static let coalescing = Missing(rawValue: UInt32(CSYS_UDP_NO_COALESCE))
        /// Cards without checksum offload: the first batch fails.
        package static let checksumOffload = Missing(rawValue: UInt32(CSYS_UDP_SEGMENT_EIO))
        /// The kernel's queue is full until `KernelDatagramSocket.makeRoom()`.
        package static let room = Missing(rawValue: UInt32(CSYS_UDP_BLOCKED))
    }

    private let missing: Missing

    package init(missing: Missing = []) {
        self.missing = missing
    }

    package func bind(_ address: SocketAddress, on loop: any Loop) throws(SocketError) -> any DatagramSocket {
        guard let loop = loop as? EventLoop else { preconditionFailure("the kernel's sockets need an EventLoop") }
        return try KernelDatagramSocket(binding: address, on: loop, missing: missing)
    }
}

/// One bound UDP socket: batches in and out, offloaded where the kernel can.
///
/// It lives until `close`: the loop holds it while it is watched.
package final class KernelDatagramSocket: DatagramSocket {
    private let loop: EventLoop
    private var udp: OpaquePointer?
    private var watch: DescriptorWatch?
    /// Callbacks are running over the receive buffers: `close` must not free them yet.
    private var isDelivering = false
    private var waitsForRoom = false
    private let batch = UnsafeMutablePointer<csys_received>.allocate(capacity: Int(CSYS_UDP_BATCH))

    package let localAddress: SocketAddress
    package var onReceive: ((ReceivedDatagrams) -> Void)?
    package var onUnreachable: ((SocketAddress) -> Void)?

    init(binding address: SocketAddress, on loop: EventLoop, missing: KernelNetwork.Missing) throws(SocketError) {
        loop.checkIsolated()
        self.loop = loop
        var error: Int32 = 0
        guard let udp = csys_udp_open(csys_address(address), missing.rawValue, &error) else {
            batch.deallocate()
            throw SocketError(errno: error, binding: address)
        }
        self.udp = udp
        localAddress = SocketAddress(csys_udp_local(udp))
        do throws(SystemError) {
            watch = try loop.watch(csys_udp_descriptor(udp), for: .readable) { self.ready($0) }
        } catch {
            throw SocketError.system(errno: error.errno, doing: error.doing)
        }
    }

    deinit {
        if let udp { csys_udp_free(udp) }
        batch.deallocate()
    }

    // MARK: - Receiving

    private func ready(_ readiness: Readiness) {
        isDelivering = true
        if readiness.contains(.failed) { deliverUnreachable() }
        if readiness.contains(.writable) { flush() }
        if readiness.contains(.readable) { deliverBatch() }
        isDelivering = false
        if watch == nil { free() }
    }

    /// One batch a turn: what is left is reported again, after the timers and jobs had their turn.
    private func deliverBatch() {
        guard let udp, watch != nil else { return }
        let count = csys_udp_receive(udp, batch)
        for index in 0..<Int(max(0, count)) {
            guard watch != nil else { return }
            onReceive?(ReceivedDatagrams(batch[index]))
        }
    }

    private func deliverUnreachable() {
        guard let udp else { return }
        var to = csys_address()
        // As many as one turn may take from whoever forges them.
        for _ in 0..<64 where watch != nil && csys_udp_next_unreachable(udp, &to) == 1 {
            onUnreachable?(SocketAddress(to))
        }
    }

    // MARK: - Sending

    package func reserve(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        precondition((0...65_535).contains(byteCount), "no datagram is that large")
        guard let udp, let start = csys_udp_reserve(udp, byteCount) else {
            preconditionFailure("reserve on a closed socket")
        }
        return UnsafeMutableRawBufferPointer(start: start, count: byteCount)
    }

    package func commit(
        _ byteCount: Int, segmentSize: Int, to: SocketAddress, from source: SocketAddress?, ecn: UInt8
    ) {
        guard let udp else { preconditionFailure("commit on a closed socket") }
        csys_udp_commit(
            udp, byteCount, segmentSize, csys_address(to), source.map { csys_address($0) } ?? csys_address(), ecn)
    }

    /// What the kernel has no room for stays queued, at most half a megabyte, and leaves when there is room; only what
    /// does not fit then is dropped.
    package func flush() {
        guard let udp, let watch else { return }
        let isBlocked = csys_udp_flush(udp) != 0
        guard isBlocked != waitsForRoom else { return }
        waitsForRoom = isBlocked
        loop.change(watch, to: isBlocked ? [.readable, .writable] : .readable)
    }

    /// Ends the test switch `KernelNetwork.Missing.room`.
    package func makeRoom() {
        if let udp { csys_udp_unblock(udp) }
    }

    // MARK: - Closing

    package func close() {
        guard let watch else { return }
        loop.unwatch(watch)
        self.watch = nil
        onReceive = nil
        onUnreachable = nil
        if !isDelivering { free() }
    }

    private func free() {
        if let udp { csys_udp_free(udp) }
        udp = nil
    }

    // MARK: - What it did

    /// Counts and capabilities, for tests and gauges.
    package var counts: DatagramCounts { udp.map { DatagramCounts(csys_udp_count($0)) } ?? DatagramCounts() }
}

/// What a socket has done so far.
package struct DatagramCounts: Equatable, Sendable {
    package var packetsSent: UInt64 = 0
    package var packetsDropped: UInt64 = 0
    package var sendCalls: UInt64 = 0
    package var receiveCalls: UInt64 = 0
    /// Batches leave as one message each.
    package var segments = false
    /// The kernel may coalesce what it receives.
    package var coalesces = false

    package init() {}

    init(_ counts: csys_udp_counts) {
        packetsSent = counts.packets_sent
        packetsDropped = counts.packets_dropped
        sendCalls = counts.send_calls
        receiveCalls = counts.receive_calls
        segments = counts.segments != 0
        coalesces = counts.coalesces != 0
    }
}
