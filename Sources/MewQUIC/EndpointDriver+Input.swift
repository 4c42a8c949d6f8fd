internal import MewBase
internal import MewLoop
internal import MewQUICCore

/// An Initial packet of a dialler we do not know yet, kept until the established connections were served.
struct PendingInitial {
    let bytes: [UInt8]
    let arrival: Outlet
    let ecn: UInt8
    /// It came through a relay and has waited for a copy on a direct path.
    var wasHeld = false
}

// Packets in.

extension EndpointDriver {
    /// Initial packets kept per turn; more are dropped, and their senders repeat them.
    private static let maxPendingInitials = 256

    /// An Initial is at least 1200 bytes and need not be much more; a larger one only costs memory.
    private static let maxInitialBytes = 2_048

    func received(_ datagrams: ReceivedDatagrams, on socket: Int) {
        let arrival = Outlet(route: .direct(datagrams.from), socket: socket, source: datagrams.to)
        received(datagrams.bytes, segmentSize: datagrams.segmentSize, from: arrival, ecn: datagrams.ecn)
    }

    /// Splits a coalesced batch first: packets of several connections may stand in one. Neighbours for the same
    /// connection are handed over together.
    func received(_ bytes: UnsafeRawBufferPointer, segmentSize: Int, from arrival: Outlet, ecn: UInt8) {
        guard segmentSize > 0 else { return }
        let now = loop.now
        var run: (slot: ConnectionSlot, id: LocalConnectionID?, start: Int)?
        for start in stride(from: 0, to: bytes.count, by: segmentSize) {
            let packet = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + segmentSize, bytes.count)])
            let id = PacketHead.shortID(packet)
            if let run, let id, run.id == id { continue }
            if let run {
                table[run.slot]?.input(
                    UnsafeRawBufferPointer(rebasing: bytes[run.start..<start]), segmentSize: segmentSize, from: arrival,
                    ecn: ecn, now: now)
            }
            run = nil
            let verdict = demultiplexer.route(packet, now: now)
            if case .connection(let slot) = verdict {
                run = (slot, id, start)
            } else {
                handle(verdict, packet, from: arrival, ecn: ecn)
            }
        }
        if let run {
            table[run.slot]?.input(
                UnsafeRawBufferPointer(rebasing: bytes[run.start...]), segmentSize: segmentSize, from: arrival,
                ecn: ecn,
                now: now)
        }
    }

    private func handle(
        _ verdict: Demultiplexer.Verdict, _ packet: UnsafeRawBufferPointer, from arrival: Outlet, ecn: UInt8
    ) {
        switch verdict {
        case .connection: break
        case .initial: keepInitial(packet, from: arrival, ecn: ecn)
        case .stranger(let id): strangePacket(packet, for: id, from: arrival)
        case .late(let words):
            counters.late += 1
            if let words, words.answersNext() { outlets.send(words.farewell.packet, by: arrival) }
            scheduleTurn()
        case .foreignVersion(let destination, let source):
            answerVersion(packet, destination: destination, source: source, to: arrival)
        case .stun: stun(packet, from: arrival)
        case .noise: counters.noise += 1
        }
    }

    private func keepInitial(_ packet: UnsafeRawBufferPointer, from arrival: Outlet, ecn: UInt8) {
        guard isListening, initials.count < Self.maxPendingInitials, packet.count <= Self.maxInitialBytes else {
            counters.initialsDropped += 1
            return
        }
        initials.append(PendingInitial(bytes: Array(packet), arrival: arrival, ecn: ecn))
        scheduleTurn()
    }

    var isListening: Bool { !configuration.acceptedProtocols.isEmpty && !isClosing }

    /// A short packet for nobody: the reset of a peer that lost its state, or one of a peer that does not know that we
    /// lost ours.
    private func strangePacket(_ packet: UnsafeRawBufferPointer, for id: LocalConnectionID, from arrival: Outlet) {
        if let (slot, token) = demultiplexer.resetTarget(packet), let connection = table[slot],
            connection.accepts(token, from: arrival.route)
        {
            counters.resetsAccepted += 1
            connection.peerSentReset()
            return
        }
        guard strayLimit.take(now: loop.now),
            let reset = resetKey.packet(for: id, answering: packet.count, entropy: entropy)
        else { return }
        counters.resetsSent += 1
        outlets.send(reset, by: arrival)
        scheduleTurn()
    }

    private func answerVersion(
        _ packet: UnsafeRawBufferPointer, destination: [UInt8], source: [UInt8], to arrival: Outlet
    ) {
        guard isListening, strayLimit.take(now: loop.now),
            let answer = StatelessPackets.versionNegotiation(
                destination: destination, source: source, answering: packet.count, entropy: entropy)
        else { return }
        outlets.send(answer, by: arrival)
        scheduleTurn()
    }
}
