public import MewWire

extension DaemonMessage.Receipt {
    /// The receipt in a row; nil when it cannot be read, which is as good as none.
    public init?(in row: ReceiptRow) {
        guard let json = try? JSON(parsing: row.body), let receipt = try? Self.decode(json) else { return nil }
        self = receipt
    }

    /// How a prompt ends that was acknowledged and of which nothing else is left. Nil for what has its end, and for what is no
    /// prompt.
    public func lost(at wall: WallTime) -> DaemonMessage.Receipt? {
        guard turnID != nil else { return nil }
        switch state {
        case .stored, .started:
            return DaemonMessage.Receipt(
                operation: operation, state: .done, isRepeat: false, sessionID: sessionID, sequence: sequence,
                turnID: turnID, result: .interrupted,
                message: "interrupted: the record of this prompt was lost with a damaged file; it was not run again",
                at: wall)
        case .done, .refused, .absent: return nil
        }
    }
}
