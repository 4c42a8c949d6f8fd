import MewBase
import MewIdentity
import MewSession
import MewWire

// What became of operations, and how long that is kept.

extension StoreWriter {
    /// Receipts of a device that are kept besides those of sessions (spec/native-wire.md §3).
    private static let keptReceipts: Int64 = 10_000
    /// Receipts of a device that may be written before the old ones are looked for.
    private static let receiptTrimStep = 250
    /// 30 days.
    private static let receiptAgeMilliseconds: Int64 = 30 * 86_400_000

    func put(_ row: ReceiptRow) throws(StoreWriteError) {
        var number: Int64?
        if let session = row.staysWithSession { number = try place(of: session).number }
        try run(
            """
            INSERT INTO receipts(device, operation, session, at_ms, content, body, sum) VALUES(?,?,?,?,?,?,?)
            ON CONFLICT(device, operation) DO UPDATE SET session=excluded.session, at_ms=excluded.at_ms,
            content=excluded.content, body=excluded.body, sum=excluded.sum
            """,
            [
                .blob(row.device.bytes), .blob(row.operation.ulid.bytes), .optional(number),
                .integer(row.at.milliseconds), .blob(row.content), .blob(row.body),
                .integer(Checksum.of(row.body)),
            ])
        try run(
            """
            INSERT INTO operations(device, highest) VALUES(?,?)
            ON CONFLICT(device) DO UPDATE SET highest=max(highest, excluded.highest)
            """, [.blob(row.device.bytes), .blob(row.operation.ulid.bytes)])
        freshReceipts[row.device, default: 0] += 1
        guard freshReceipts[row.device, default: 0] >= Self.receiptTrimStep else { return }
        freshReceipts[row.device] = nil
        try trimReceipts(of: row.device)
    }

    private func trimReceipts(of device: NodeID) throws(StoreWriteError) {
        try evictReceipts(
            "device=?1 AND session IS NULL AND operation < (SELECT operation FROM receipts WHERE device=?1 "
                + "AND session IS NULL ORDER BY operation DESC LIMIT 1 OFFSET ?2)",
            [.blob(device.bytes), .integer(Self.keptReceipts - 1)])
    }

    /// Removes receipts that are old by the wall clock.
    func trimReceipts(now: WallTime) throws(StoreWriteError) {
        try evictReceipts(
            "session IS NULL AND at_ms < ?1", [.integer(now.milliseconds - Self.receiptAgeMilliseconds)])
    }

    /// What is removed is remembered by its highest number, below which an unknown operation has expired.
    private func evictReceipts(_ condition: String, _ values: [SQLValue]) throws(StoreWriteError) {
        try run(
            """
            UPDATE operations SET highest_evicted=max(coalesce(highest_evicted, x''), evicted.operation)
            FROM (SELECT device, max(operation) AS operation FROM receipts WHERE \(condition) GROUP BY device) AS evicted
            WHERE operations.device=evicted.device
            """, values)
        try run("DELETE FROM receipts WHERE \(condition)", values)
    }

    func advance(_ key: OperationKey, _ at: WallTime, _ body: [UInt8]) throws(StoreWriteError) {
        try run(
            "UPDATE receipts SET at_ms=?, body=?, sum=? WHERE device=? AND operation=?",
            [
                .integer(at.milliseconds), .blob(body), .integer(Checksum.of(body)), .blob(key.device.bytes),
                .blob(key.id.ulid.bytes),
            ])
    }
}

extension ULID {
    /// Sixteen bytes, most significant first, so that a database sorts them by time.
    var bytes: [UInt8] {
        [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) } }
    }

    /// Nil unless there are sixteen bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        func word(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: word(bytes[..<8]), low: word(bytes[8...]))
    }
}
