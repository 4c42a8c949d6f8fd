package import MewIdentity
package import MewSession
package import MewWire

/// What a store holds, as a value: applies writes with the rules that a real store checks, and loads what it has.
///
/// Tests crash by keeping the value from before. A write that contradicts what is stored is a failed test.
package struct StoredWorld: Sendable {
    package struct Session: Sendable {
        package var row: SessionRow
        package var events: [EventRow] = []
        package var head = SequenceNumber.zero
        package var messages: [MessageRow] = []
        package var requests: [RequestRow] = []
        package var work: [WorkRow] = []
        package var process: ProcessRow?
    }

    package private(set) var sessions: [SessionID: Session] = [:]
    package private(set) var receipts: [OperationKey: ReceiptRow] = [:]
    package private(set) var devices: [NodeID: DeviceRow] = [:]
    package private(set) var groups: [GroupID: GroupRow] = [:]
    package private(set) var settings: [SettingName: String] = [:]

    package init() {}

    /// All of `writes` or nothing.
    package mutating func apply(_ writes: [StoreWrite]) throws(StoreError) {
        var copy = self
        for write in writes { try copy.apply(write) }
        self = copy
    }

    private mutating func apply(_ write: StoreWrite) throws(StoreError) {
        switch write {
        case .putSession(let row):
            if sessions[row.id] == nil { sessions[row.id] = Session(row: row) }
            sessions[row.id]?.row = row
        case .deleteSession(let id): sessions[id] = nil
        case .appendEvent(let id, let row):
            let head = sessions[id]?.head ?? .zero
            guard row.sequence == head.next else {
                throw .contradiction("event \(row.sequence) does not follow \(head)")
            }
            try change(id) { session in
                session.events.append(row)
                session.head = row.sequence
            }
        case .dropEvents(let id, let last): try change(id) { $0.events.removeAll { $0.sequence <= last } }
        case .putMessage(let id, let row):
            try change(id) { session in
                let count = UInt64(session.messages.count)
                if row.position < count { session.messages[Int(row.position)] = row }
                if row.position == count { session.messages.append(row) }
            }
            guard row.position < UInt64(sessions[id]?.messages.count ?? 0) else {
                throw .contradiction("message \(row.position) leaves a hole")
            }
        case .clearMessages(let id): try change(id) { $0.messages = [] }
        case .putRequest(let id, let row):
            try change(id) { session in
                session.requests.removeAll { $0.id == row.id }
                session.requests.append(row)
            }
        case .putWork(let id, let row):
            try change(id) { session in
                guard let index = session.work.firstIndex(where: { $0.number == row.number }) else {
                    return session.work.append(row)
                }
                session.work[index] = row
            }
        case .removeWork(let id, let number): try change(id) { $0.work.removeAll { $0.number == number } }
        case .startProcess(let row):
            guard sessions[row.session]?.process == nil else { throw .contradiction("a second process") }
            try change(row.session) { $0.process = row }
        case .endProcess(let id): try change(id) { $0.process = nil }
        case .putReceipt(let row): receipts[OperationKey(device: row.device, id: row.operation)] = row
        case .advanceReceipt(let key, let at, let body):
            guard let old = receipts[key] else { throw .contradiction("a receipt that was never stored") }
            receipts[key] = ReceiptRow(
                device: key.device, operation: key.id, staysWithSession: old.staysWithSession, at: at,
                content: old.content, body: body)
        case .putDevice(let row): devices[row.node] = row
        case .deleteDevice(let node): devices[node] = nil
        case .putGroup(let row): groups[row.id] = row
        case .deleteGroup(let id): groups[id] = nil
        case .putSetting(let name, let value): settings[name] = value
        }
    }

    private mutating func change(_ id: SessionID, _ body: (inout Session) -> Void) throws(StoreError) {
        guard var session = sessions[id] else { throw .contradiction("\(id) is not stored") }
        body(&session)
        sessions[id] = session
    }

    package func load(
        _ id: SessionID, limits: LoadLimits = SessionCore.loadLimits, isSuspect: Bool = false
    ) -> StoredSession? {
        guard let session = sessions[id] else { return nil }
        var events: [EventRow] = []
        var bytes = 0
        for event in session.events.reversed().prefix(limits.events) {
            bytes += event.body.count
            guard bytes <= limits.eventBytes else { break }
            events.append(event)
        }
        return StoredSession(
            row: session.row, events: events.reversed(), headSequence: session.head,
            lostEvents: 0, isSuspect: isSuspect,
            messages: newest(session.messages[...], limits.messages, limits.messageBytes),
            messageCount: UInt64(session.messages.count), requests: session.requests, work: session.work)
    }

    package func messages(of id: SessionID, before: UInt64, limit: Int, maxBytes: Int) -> [MessageRow] {
        let all = sessions[id]?.messages ?? []
        return newest(all.prefix(Int(clamping: before)), limit, maxBytes)
    }

    private func newest(_ rows: ArraySlice<MessageRow>, _ limit: Int, _ maxBytes: Int) -> [MessageRow] {
        var page: [MessageRow] = []
        var bytes = 0
        for row in rows.reversed().prefix(limit) {
            bytes += row.body.count
            guard bytes <= maxBytes || page.isEmpty else { break }
            page.append(row)
        }
        return page.reversed()
    }
}
