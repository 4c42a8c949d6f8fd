public import MewIdentity
public import MewWire

/// One change of what is stored. A list of them is committed whole or not at all.
public enum StoreWrite: Hashable, Sendable {
    // MARK: Sessions

    /// Adds or replaces the session's record.
    case putSession(SessionRow)
    /// Removes the session with all that belongs to it. Receipts stay like those of no session, until 30 days after their last
    /// change: those of an older session are gone with the next `prune`, and their operations have expired.
    case deleteSession(SessionID)
    /// Sequence numbers follow each other without holes; anything else is a contradiction.
    case appendEvent(SessionID, EventRow)
    /// Gives up the events up to this one: some of them are damaged, and with the new epoch nobody asks for the others. The numbers
    /// go on where they were.
    case dropEvents(SessionID, upTo: SequenceNumber)
    case putMessage(SessionID, MessageRow)
    /// Empties the transcript; positions start at 0 again.
    case clearMessages(SessionID)
    case putRequest(SessionID, RequestRow)
    case putWork(SessionID, WorkRow)
    case removeWork(SessionID, number: UInt64)
    /// At most one per session: a second one is a contradiction.
    case startProcess(ProcessRow)
    case endProcess(SessionID)

    // MARK: Operations

    case putReceipt(ReceiptRow)
    /// Replaces what became of an operation that has a receipt.
    case advanceReceipt(OperationKey, at: WallTime, body: [UInt8])

    // MARK: The rest

    case putDevice(DeviceRow)
    case deleteDevice(NodeID)
    case putGroup(GroupRow)
    /// Sessions that name it afterwards are in no group.
    case deleteGroup(GroupID)
    /// Nil removes it.
    case putSetting(SettingName, String?)
}
