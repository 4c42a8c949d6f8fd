import CQuic
import MewBase
import MewIdentity
import MewSim
import Testing

@testable import MewQUICCore

@Suite("Life of a connection")
struct LifeTests {
    private func established(_ configuration: TransportConfiguration = TransportConfiguration()) throws -> CorePair {
        let pair = try CorePair(configuration: configuration)
        try #require(try pair.run { pair.isEstablished && pair.client.isConfirmed })
        return pair
    }

    private func openStream(_ pair: CorePair, sending bytes: [UInt8] = [1]) throws -> (
        client: StreamCore, server: StreamCore
    ) {
        let stream = try #require(try pair.client.openStream(.bidirectional))
        _ = try pair.client.write(bytes, to: stream)
        var opened: StreamCore?
        pair.onEvent = { _, event in if case .opened(let stream) = event { opened = stream } }
        try pair.run { opened?.unreadBytes == bytes.count }
        return (stream, try #require(opened))
    }

    @Test("a close reaches the peer with its code and sentence")
    func closes() throws {
        let pair = try established()
        pair.client.close(code: 7, reason: "enough")
        try pair.run { pair.server?.closure != nil }
        #expect(pair.client.closure == .local(code: 7, reason: "enough"))
        #expect(pair.server?.closure == .peer(code: 7, reason: "enough"))
        #expect(pair.client.farewell != nil)
        #expect(throws: QUICError.closed(.local(code: 7, reason: "enough"))) {
            try pair.client.openStream(.bidirectional)
        }
    }

    @Test("a reason of 256 bytes travels whole, a longer one is cut between characters")
    func clipsReason() throws {
        for (reason, heard) in [
            (String(repeating: "x", count: 256), String(repeating: "x", count: 256)),
            (String(repeating: "x", count: 257), String(repeating: "x", count: 256)),
            ("x" + String(repeating: "é", count: 128), "x" + String(repeating: "é", count: 127)),
        ] {
            let pair = try established()
            pair.client.close(code: 7, reason: reason)
            try pair.run { pair.server?.closure != nil }
            #expect(pair.server?.closure == .peer(code: 7, reason: heard))
        }
    }

    @Test("a close packet is repeated for the first, second, fourth, eighth … packet that comes after it")
    func lastWords() {
        let words = LastWords(Farewell(packet: [1], path: CorePath(number: 1, remote: CorePair.clientAddress)))
        let answered = (1...20).filter { _ in words.answersNext() }
        #expect(answered == [1, 2, 4, 8, 16])
    }

    @Test("the first cause of an end wins")
    func closesOnce() throws {
        let pair = try established()
        pair.client.close(code: 1, reason: "first")
        pair.client.close(code: 2, reason: "second")
        pair.client.peerSentReset()
        #expect(pair.client.closure == .reset)
        let other = try established()
        other.client.close(code: 1, reason: "first")
        other.client.close(code: 2, reason: "second")
        try other.run { other.client.closure != nil }
        #expect(other.client.closure == .local(code: 1, reason: "first"))
    }

    @Test("a silent peer ends the connection after the idle time-out")
    func idles() throws {
        let pair = try established()
        let silent = pair.now
        pair.wire.isCut = true
        try pair.run { pair.client.closure != nil && pair.server?.closure != nil }
        #expect(pair.client.closure == .idle)
        #expect(silent.duration(to: pair.now) >= .seconds(30) - .milliseconds(50))
        #expect(silent.duration(to: pair.now) < .seconds(40))
    }

    @Test("keep-alives hold an idle connection for as long as both ends live")
    func keepsAlive() throws {
        let pair = try established()
        try pair.run(limit: .seconds(300)) { false }
        #expect(pair.client.closure == nil)
        #expect(pair.server?.closure == nil)
        let idle = pair.client.statistics.lastProof.duration(to: pair.now)
        #expect(idle < .seconds(10))
    }

    @Test("a peer that is not authorized has one stream and 64 KiB, and all of it afterwards")
    func restrictsStrangers() throws {
        let pair = try CorePair()
        pair.authorizesAtOnce = false
        try pair.run { pair.isEstablished && pair.client.isConfirmed }
        let stream = try #require(try pair.client.openStream(.bidirectional))
        #expect(try pair.client.openStream(.bidirectional) == nil)
        #expect(try pair.client.write([UInt8](repeating: 1, count: 200_000), to: stream) == 200_000)
        try pair.run(limit: .seconds(5)) { false }
        let seen = try #require(
            pair.events[.server]?.opened.first)
        #expect(seen.unreadBytes == 64 << 10)
        pair.server?.authorize()
        try pair.run(limit: .seconds(5)) { seen.unreadBytes == 200_000 }
        #expect(seen.unreadBytes == 200_000)
        var opened = 1
        while try pair.client.openStream(.bidirectional) != nil { opened += 1 }
        #expect(opened == 100)
    }

    @Test("resetting and stopping a stream tells the peer the code and gives the window back")
    func abortsStreams() throws {
        let pair = try established()
        let (mine, theirs) = try openStream(pair, sending: Array(repeating: 3, count: 50_000))
        pair.client.reset(mine, code: 11)
        try pair.run { theirs.receiving == .reset(code: 11) }
        #expect(theirs.receiving == .reset(code: 11))
        #expect(theirs.unreadBytes == 0)
        pair.client.stop(mine, code: 12)
        try pair.run(limit: .seconds(1)) { false }
        let server = try #require(pair.server)
        #expect(theirs.sending == .stopped)
        #expect(throws: QUICError.stopped) { try server.write([1], to: theirs) }
        try pair.run { mine.isClosed && theirs.isClosed }
        #expect(mine.isClosed && theirs.isClosed)
    }

    @Test("a reset that comes after the last byte takes nothing away from the reader")
    func resetAfterEnd() throws {
        let pair = try established()
        let (mine, theirs) = try openStream(pair, sending: Array(repeating: 3, count: 50_000))
        pair.client.finish(mine)
        try pair.run { theirs.receiving == .ended }
        // The end was not acknowledged yet, so the reset is sent, and the peer may not care (RFC 9000 §3.2).
        pair.client.reset(mine, code: 11)
        try pair.run(limit: .seconds(1)) { false }
        #expect(mine.sending == .reset(code: 11))
        #expect(theirs.receiving == .ended)
        var read = 0
        while let bytes = pair.server?.read(theirs) { read += bytes.count }
        #expect(read == 50_000)
    }

    @Test("a writer that waits for a window learns that the peer asked it to stop")
    func stopsWaitingWriter() throws {
        let pair = try established()
        let (mine, theirs) = try openStream(pair)
        let server = try #require(pair.server)
        var stopped = false
        pair.onEvent = { side, event in
            if case .writable(let stream) = event, side == .client { stopped = stream.sending == .stopped }
        }
        while try pair.client.write([UInt8](repeating: 4, count: 100_000), to: mine) > 0 {
            try pair.run(limit: .seconds(1)) { false }
        }
        #expect(theirs.unreadBytes == Int(pair.configuration.streamWindow))
        #expect(!stopped)
        server.stop(theirs, code: 3)
        try pair.run(limit: .seconds(2)) { stopped }
        #expect(stopped)
    }

    @Test("streams that the peer opens and gives up count as long as our application has not let go of them")
    func abandonedStreams() throws {
        let pair = try established()
        var served: [StreamCore] = []
        pair.onEvent = { _, event in if case .opened(let stream) = event { served.append(stream) } }
        func openAndGiveUp() throws -> Bool {
            guard let stream = try pair.client.openStream(.bidirectional) else { return false }
            pair.client.reset(stream, code: 1)
            pair.client.stop(stream, code: 1)
            try #require(try pair.run { stream.isClosed })
            return true
        }
        for _ in 0..<100 { #expect(try openAndGiveUp()) }
        #expect(try !openAndGiveUp())
        #expect(served.count == 100)
        try #require(try pair.run { served.allSatisfy(\.isClosed) })
        pair.server?.release(served[7])
        try pair.run(limit: .seconds(1)) { false }
        #expect(try openAndGiveUp())
        #expect(try !openAndGiveUp())
    }

    @Test("ten thousand streams, one after another, leave nothing behind")
    func reusesStreams() throws {
        let pair = try established()
        pair.wire.latency = .microseconds(50)
        pair.onEvent = { side, event in
            guard case .readable(let stream) = event, let core = pair.core(side) else { return }
            while core.read(stream) != nil {}
            if stream.receiving == .ended {
                core.finish(stream)
                core.release(stream)
            }
        }
        for _ in 0..<10_000 {
            let stream = try #require(try pair.client.openStream(.bidirectional))
            _ = try pair.client.write([5], to: stream)
            pair.client.finish(stream)
            try #require(try pair.run { stream.isClosed })
        }
        pair.events = [.client: [], .server: []]
        #expect(pair.client.streams.byID.isEmpty)
        #expect(pair.server?.streams.byID.count ?? 9 <= 1)
    }

    @Test("datagrams travel both ways, up to the size the path takes")
    func datagrams() throws {
        let pair = try established()
        try pair.run(limit: .seconds(2)) { pair.client.statistics.pathPayloadBytes > 1_400 }
        let limit = pair.client.maxDatagramBytes
        #expect(limit > 1_300)
        try pair.client.sendDatagram([UInt8](repeating: 8, count: limit))
        #expect(throws: QUICError.datagramTooLarge(maxBytes: limit)) {
            try pair.client.sendDatagram([UInt8](repeating: 8, count: limit + 1))
        }
        try pair.server?.sendDatagram([1, 2, 3])
        var received: [Side: [UInt8]] = [:]
        pair.onEvent = { side, event in if case .datagram = event { received[side] = pair.core(side)?.takeDatagram() } }
        try pair.run { received.count == 2 }
        #expect(received[.server]?.count == limit)
        #expect(received[.client] == [1, 2, 3])
    }

    @Test("a probe of path MTU discovery leaves alone, and the path ends up with the larger size")
    func discoversMTU() throws {
        let pair = try CorePair()
        let transfer = Transfer(pair, streams: 1, bytes: 2 << 20)
        #expect(try pair.run { transfer.isComplete })
        var known = 1_200
        let fromClient = pair.batches.filter { $0.side == .client }.map(\.batch)
        for batch in fromClient where batch.segmentSize > known {
            #expect(batch.byteCount == batch.segmentSize, "a probe had company")
            known = batch.segmentSize
        }
        #expect(known == pair.configuration.maxUDPPayload)
        #expect(pair.client.statistics.pathPayloadBytes == known)
        #expect(fromClient.contains { $0.packetCount > 8 })
    }

    @Test(
        "the search ends at the largest size that passes, after few packets that do not",
        arguments: [(1_252, 1_232), (1_232, 1_232), (1_231, 1_200)])
    func stopsAtMTU(passes: Int, found: Int) throws {
        let pair = try CorePair()
        pair.wire.maxPacketBytes = passes
        let transfer = Transfer(pair, streams: 1, bytes: 2 << 20)
        #expect(try pair.run { transfer.isComplete })
        // Each size that does not pass takes three probe time-outs.
        try pair.run(limit: .seconds(30)) { false }
        #expect(pair.client.statistics.pathPayloadBytes == found)
        let vanished = pair.trace.filter { $0.from == .client && $0.size > passes }
        #expect(vanished.count <= 3 * pair.configuration.probedPayloads.count)
    }

    @Test("keys are updated by either side, again and again, and what is sent with them arrives")
    func updatesKeys() throws {
        let pair = try established()
        let (mine, theirs) = try openStream(pair)
        for round in 0..<6 {
            let side = Side.allCases[round % 2]
            let core = try #require(pair.core(side))
            // The library makes the next keys ready when it is asked for a packet a while after the last update.
            pair.flush(side)
            func update() -> Int32 { ngtcp2_conn_initiate_key_update(core.connection, core.timestamp(pair.now)) }
            #expect(update() == 0, "round \(round)")
            #expect(update() != 0, "not before the peer has confirmed this one (RFC 9001 §6.2)")
            let bytes = [UInt8](repeating: UInt8(round), count: 10_000)
            #expect(try pair.client.write(bytes, to: mine) == bytes.count)
            #expect(try pair.server?.write(bytes, to: theirs) == bytes.count)
            try pair.run(limit: .seconds(1)) { false }
            #expect(pair.client.read(mine) == bytes)
            #expect(pair.server?.read(theirs)?.suffix(bytes.count) == bytes[...])
        }
        #expect(pair.client.closure == nil && pair.server?.closure == nil)
    }

    @Test("a dialler moves to another path and back without losing a byte")
    func migrates() throws {
        let pair = try CorePair()
        let second = SocketAddress(ipv4: 0x0a00_0909, port: 2_000)
        pair.clientAddresses = [1: CorePair.clientAddress, 2: second]
        let transfer = Transfer(pair, streams: 2, bytes: 1 << 20)
        try pair.run { pair.client.isConfirmed && transfer.bytesRead(by: .server) > 100_000 }
        let path2 = CorePath(number: 2, remote: CorePair.serverAddress)
        try pair.client.migrate(to: path2, now: pair.now)
        try pair.run { pair.client.path == path2 && pair.server?.path.remote == second }
        #expect(pair.client.path == path2)
        #expect(pair.server?.path.remote == second)
        #expect(!transfer.isComplete)
        #expect(pair.client.acceptedResetToken(now: pair.now) == nil)
        try pair.client.migrateImmediately(to: CorePath(number: 1, remote: CorePair.serverAddress), now: pair.now)
        #expect(try pair.run { transfer.isComplete })
        #expect(transfer.mismatches == 0)
        #expect(pair.server?.path.remote == CorePair.clientAddress)
    }

    @Test(
        "a listener whose peer's new address does not answer is back on the old path at once, not with the next packet")
    func fallsBack() throws {
        let pair = try established()
        let server = try #require(pair.server)
        pair.clientAddressSeen = SocketAddress(ipv4: 0x0a00_0909, port: 2_000)
        let stream = try #require(try pair.client.openStream(.bidirectional))
        _ = try pair.client.write([1], to: stream)
        try pair.run(limit: .seconds(1)) { server.path.remote == pair.clientAddressSeen }
        #expect(server.path.remote == pair.clientAddressSeen)
        pair.wire.isCut = true
        var failed = false
        pair.onEvent = { side, event in
            if case .pathValidated(_, succeeded: false) = event, side == .server { failed = true }
        }
        try pair.run(limit: .seconds(20)) { failed }
        #expect(failed)
        #expect(server.path.remote == CorePair.clientAddress)
    }

    @Test("a reset is accepted only for the ID in use, and not within 3 PTO of a migration")
    func acceptsResets() throws {
        let pair = try established()
        let server = try #require(pair.server)
        let ids = pair.events[.server]!.issued
        let key = ResetKey(CorePair.serverKey)
        let accepted = try #require(pair.client.acceptedResetToken(now: pair.now))
        #expect(accepted == key.token(for: ids[0]))
        // A dialler has no way to give a token for its first ID (RFC 9000 §18.2).
        #expect(server.acceptedResetToken(now: pair.now) == nil)
        pair.clientAddresses = [1: CorePair.clientAddress, 2: SocketAddress(ipv4: 0x0a00_0909, port: 2_000)]
        try pair.client.migrate(to: CorePath(number: 2, remote: CorePair.serverAddress), now: pair.now)
        #expect(pair.client.acceptedResetToken(now: pair.now) == nil)
        try pair.run { pair.client.path.number == 2 }
        let quiet = pair.client.probeTimeout * 3
        let moved = try #require(pair.client.lastMigration)
        #expect(pair.client.acceptedResetToken(now: moved.advanced(by: quiet - .nanoseconds(1))) == nil)
        let later = try #require(pair.client.acceptedResetToken(now: moved.advanced(by: quiet)))
        #expect(later != accepted)
        #expect(ids.dropFirst().contains { key.token(for: $0) == later })
        try pair.run(limit: .seconds(5)) { false }
        #expect(server.acceptedResetToken(now: pair.now) != nil)
    }

    @Test("a reset packet looks like a short packet, ends in the token and is smaller than what it answers")
    func writesResets() throws {
        let key = ResetKey(CorePair.serverKey)
        let id = LocalConnectionID(value: 77)
        let entropy = SeededEntropy(seed: 4)
        #expect(key.packet(for: id, answering: 21, entropy: entropy) == nil)
        for size in [22, 43, 44, 1_200] {
            let packet = try #require(key.packet(for: id, answering: size, entropy: entropy))
            #expect(packet.count == min(size - 1, 43))
            #expect(packet[0] & 0xc0 == 0x40)
            let tail = packet.suffix(16).withUnsafeBytes { ResetToken($0) }
            #expect(tail == key.token(for: id))
        }
        #expect(key.token(for: id) == ResetKey(CorePair.serverKey).token(for: id))
        #expect(key.token(for: id) != ResetKey(CorePair.clientKey).token(for: id))
    }
}
