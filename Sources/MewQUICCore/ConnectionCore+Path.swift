internal import CQuic
package import MewBase

// Which path carries the connection, moving to another one (RFC 9000 §9), and the connection IDs that go with it.

extension ConnectionCore {
    /// Checks another path and moves there when it answers. The present one carries everything meanwhile. Dialling side,
    /// after `confirmed`.
    package func migrate(to path: CorePath, now: Instant) throws(QUICError) {
        try startMigration(to: path, now: now, ngtcp2_conn_initiate_migration)
        isProbingPath = true
    }

    /// Moves at once: for a path that is known to work, or when the present one is dead. Dialling side, after `confirmed`.
    package func migrateImmediately(to path: CorePath, now: Instant) throws(QUICError) {
        try startMigration(to: path, now: now, ngtcp2_conn_initiate_immediate_migration)
        notePath()
    }

    /// The present path leads another way from now on, which the library need not know.
    package func rerouted(now: Instant) {
        _ = timestamp(now)
        (pathSince, lastMigration) = (self.now, self.now)
        askSoon()
    }

    private func startMigration(
        to path: CorePath, now: Instant,
        _ start: (OpaquePointer?, UnsafePointer<ngtcp2_path>?, ngtcp2_tstamp) -> Int32
    ) throws(QUICError) {
        try requireOpen()
        guard role == .client else { throw .refused("the listening side cannot migrate") }
        incomingPath.set(path)
        let status = start(connection, incomingPath.pointer, timestamp(now))
        guard status != NGTCP2_ERR_CONN_ID_BLOCKED else { throw .noConnectionID }
        guard status == 0 else { throw .refused("migrate: \(String(cString: ngtcp2_strerror(status)))") }
    }

    func pathValidated(_ path: CorePath, succeeded: Bool) {
        isProbingPath = false
        mayHaveMoved = true
        events.append(.pathValidated(path, succeeded: succeeded))
    }

    /// Compares the library's path with the one we know.
    func notePath() {
        mayHaveMoved = false
        guard let current = ngtcp2_conn_get_path(connection) else { return }
        let now = CorePath(current.pointee)
        guard now != path else { return }
        path = now
        pathStorage.set(now)
        pathSince = self.now
        lastMigration = self.now
        events.append(.pathChanged)
    }

    func issueConnectionID(_ cid: UnsafeMutablePointer<ngtcp2_cid>, _ token: UnsafeMutablePointer<UInt8>) {
        let id = LocalConnectionID(random: entropy)
        cid.pointee = id.cid
        resetKey.token(for: id).copy(to: token)
        events.append(.issued(id))
    }

    func peerIDUsed(_ cid: ngtcp2_cid, token: UnsafePointer<UInt8>?, isActive: Bool) {
        peerIDs.note(cid, token: token, isActive: isActive)
        mayHaveMoved = true
        events.append(.resetTokensChanged)
    }

    /// The tokens of all connection IDs of the peer that are in use.
    package var peerResetTokens: [ResetToken] { peerIDs.tokens }

    /// The reset token that ends this connection now: that of the peer's connection ID on the present path. Nil while a
    /// migration runs and for 3 PTO afterwards, when a packet that came late may be answered with a reset that means
    /// nothing (spec/iroh-wire.md §3.3).
    package func acceptedResetToken(now: Instant) -> ResetToken? {
        guard closure == nil, isEstablished, !isProbingPath else { return nil }
        if let lastMigration, now < lastMigration.advanced(by: probeTimeout * 3) { return nil }
        guard let current = ngtcp2_conn_get_dcid(connection) else { return nil }
        return peerIDs.token(for: current.pointee)
    }

    /// The peer's connection ID on the present path.
    package var presentPeerID: [UInt8] {
        guard let current = ngtcp2_conn_get_dcid(connection) else { return [] }
        return withUnsafeBytes(of: current.pointee.data) { Array($0.prefix(current.pointee.datalen)) }
    }

    /// The endpoint has seen the peer's reset: the connection is over and says nothing more.
    package func peerSentReset() {
        end(.reset)
    }

    /// The present probe time-out (RFC 9002 §6.2), without back-off. Not longer than `longestProbeTimeout`, whatever the library
    /// makes of packets that were kept for a machine that slept.
    package var probeTimeout: Duration {
        min(.nanoseconds(Int64(clamping: ngtcp2_conn_get_pto(connection))), Self.longestProbeTimeout)
    }

    /// That of a path with a round trip of a second, at its first sample.
    private static let longestProbeTimeout: Duration = .seconds(3)

    /// The library counts a round trip of seconds although the last one was much shorter: it has taken the time for one that a
    /// packet lay in a kernel or a relay for a machine that slept, and paces and waits by that for minutes. A path that is taken
    /// anew begins without it.
    package var isMisled: Bool {
        var info = ngtcp2_conn_info()
        ngtcp2_conn_get_conn_info_versioned(connection, NGTCP2_CONN_INFO_VERSION, &info)
        return info.smoothed_rtt > Self.misleading && info.latest_rtt < info.smoothed_rtt / 4
    }

    /// Nanoseconds. A queue of so much at the edge of a network empties within seconds by itself.
    private static let misleading: UInt64 = 1_000_000_000
}
