package import MewIdentity
package import MewSession
package import MewWire

extension SQLiteStore {
    package func sessions() throws(StoreError) -> [SessionLine] {
        try ask { reader throws(SQLiteError) in try reader.sessions() }
    }

    package func load(_ session: SessionID, limits: LoadLimits) throws(StoreError) -> StoredSession? {
        let isSuspect = owesMarks
        return try ask { reader throws(SQLiteError) in try reader.load(session, limits, isSuspect: isSuspect) }
    }

    package func events(
        of session: SessionID, after sequence: SequenceNumber, limit: Int
    ) throws(StoreError) -> [EventRow] {
        try ask { reader throws(SQLiteError) in try reader.events(of: session, after: sequence, limit: limit) }
    }

    package func messages(
        of session: SessionID, before position: UInt64, limit: Int, maxBytes: Int
    ) throws(StoreError) -> [MessageRow] {
        try ask { reader throws(SQLiteError) in
            try reader.messages(of: session, before: position, limit: limit, maxBytes: maxBytes)
        }
    }

    package func receipt(_ operation: OperationID, of device: NodeID) throws(StoreError) -> ReceiptRow? {
        try ask { reader throws(SQLiteError) in try reader.receipt(operation, of: device) }
    }

    package func receipts(of session: SessionID) throws(StoreError) -> [ReceiptRow] {
        try ask { reader throws(SQLiteError) in try reader.receipts(of: session) }
    }

    package func operationBounds(of device: NodeID) throws(StoreError) -> OperationBounds {
        try ask { reader throws(SQLiteError) in try reader.operationBounds(of: device) }
    }

    package func devices() throws(StoreError) -> [DeviceRow] {
        try ask { reader throws(SQLiteError) in try reader.devices() }
    }

    package func groups() throws(StoreError) -> [GroupRow] {
        try ask { reader throws(SQLiteError) in try reader.groups() }
    }

    package func setting(_ name: SettingName) throws(StoreError) -> String? {
        try ask { reader throws(SQLiteError) in try reader.setting(name) }
    }

    package func settings(under prefix: SettingName) throws(StoreError) -> [SettingName: String] {
        try ask { reader throws(SQLiteError) in try reader.settings(under: prefix) }
    }

    package func sessionsWithWork() throws(StoreError) -> [SessionID] {
        try ask { reader throws(SQLiteError) in try reader.sessionsWithWork() }
    }

    package func processes() throws(StoreError) -> [ProcessRow] {
        try ask { reader throws(SQLiteError) in try reader.processes() }
    }
}
