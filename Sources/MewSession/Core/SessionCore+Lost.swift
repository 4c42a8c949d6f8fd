import MewWire

// Work that was promised and whose record is lost: it cannot be done, and must not stay open for ever.

extension SessionCore {
    /// Whether receipts must be read to know what is lost. A load that may have lost something asks, too.
    public static func needsReceipts(for stored: StoredSession) -> Bool {
        stored.isSuspect || !stored.lostWork.isEmpty || stored.work.contains { readWork($0) == nil }
    }

    static func readWork(_ row: WorkRow) -> PendingWork? { decode(row.body) }

    /// Receipts of prompts that neither wait nor run.
    func lostPrompts(among rows: [ReceiptRow]) -> [OperationKey: DaemonMessage.Receipt] {
        let kept = Set(work.compactMap(\.work.operation) + [record.turn?.operation].compactMap(\.self))
        var orphans: [OperationKey: DaemonMessage.Receipt] = [:]
        for row in rows {
            let key = OperationKey(device: row.device, id: row.operation)
            guard !kept.contains(key), let receipt = DaemonMessage.Receipt(in: row), receipt.lost(at: row.at) != nil
            else { continue }
            orphans[key] = receipt
        }
        return orphans
    }

    mutating func settleLost(_ moment: Moment) {
        guard !orphans.isEmpty || !lostWork.isEmpty else { return }
        step.writes += lostWork.map { .removeWork(id, number: $0) }
        for (key, receipt) in orphans.sorted(by: { $0.key.id < $1.key.id }) {
            if let end = receipt.lost(at: moment.wall) { advance(key, end) }
        }
        emit(.errorEvent(.init(message: Self.lostNote)), moment)
        (orphans, lostWork) = ([:], [])
        mustSave = true
    }

    static let lostNote = "what waited here was lost with a damaged record; it was not run"
}
