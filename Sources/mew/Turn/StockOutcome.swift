import MewWire

/// How a turn of ours goes at a stock daemon, which gives no receipts: its echo begins it, an alert says how it ended.
struct StockOutcome {
    private(set) var hasBegun = false
    private(set) var result: TurnResult?
    private var sawError = false

    /// True when the turn is over: the alert is right behind, if there is one.
    mutating func follow(_ message: DaemonMessage, isOwn: Bool, isCancelling: Bool) -> Bool {
        if case .userMessage = message, isOwn { hasBegun = true }
        guard hasBegun else { return false }
        switch message {
        case .errorEvent: sawError = true
        case .sessionAlert(let alert) where alert.kind == .turnComplete: result = .completed
        case .sessionAlert(let alert) where alert.kind == .turnFailed: result = isCancelling ? .cancelled : .failed
        case .sessionActivityChanged(let change): return change.activity != .running
        default: break
        }
        return false
    }

    /// Nothing more is coming.
    mutating func conclude(hasFailed: Bool = false) {
        guard hasBegun, result == nil else { return }
        result = sawError || hasFailed ? .failed : .completed
    }
}
