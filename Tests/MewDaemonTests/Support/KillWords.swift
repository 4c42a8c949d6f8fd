import MewWire

// What devices of the scenes say, and how they understand what they are told.

extension Request.Content {
    /// A permission's decision in the words of the other requests: what is no denial is a yes.
    func answer(_ decision: PermissionDecision) -> Answer.Content {
        switch self {
        case .permission, .workspacePermission, .subagentPermission: .permission(decision)
        case .askUser: .questions([decision == .deny ? "no" : "yes"])
        case .planApproval: .plan(approved: decision != .deny, feedback: nil)
        case .goal: .goal(accepted: decision != .deny)
        }
    }
}

extension DaemonMessage.Receipt {
    /// Nothing comes after it.
    var isEnd: Bool {
        switch state {
        case .done, .refused, .absent: true
        case .stored, .started: false
        }
    }

    /// What must not change when it is told again.
    var verdict: String { "\(state) \(result?.rawValue ?? "-") \(code?.rawValue ?? "-") \(turnID?.description ?? "-")" }
}
