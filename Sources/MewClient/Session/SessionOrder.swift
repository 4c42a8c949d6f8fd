public import MewWire

/// The order of a session list: what needs you first (spec/mew-wire.md §5.7).
public enum SessionOrder {
    /// Sessions that wait for an answer, then those that work, then pinned ones, then the rest; within each, the last used
    /// first. Archived ones at the end.
    public static func needsYou(_ sessions: [SessionInfo]) -> [SessionInfo] {
        sessions.sorted { left, right in
            let (leftRank, rightRank) = (rank(left), rank(right))
            guard leftRank == rightRank else { return leftRank < rightRank }
            let (leftUse, rightUse) = (lastUse(left), lastUse(right))
            guard leftUse == rightUse else { return leftUse > rightUse }
            return left.sessionID.text < right.sessionID.text
        }
    }

    private static func rank(_ session: SessionInfo) -> Int {
        if session.needsYou { return 0 }
        if session.state == .running { return 1 }
        if session.archived { return 4 }
        return session.pinned ? 2 : 3
    }

    private static func lastUse(_ session: SessionInfo) -> WallTime { session.lastMessageAt ?? session.createdAt }
}

extension SessionInfo {
    /// What a person knows the session by: its title, else its summary, else its first prompt, else its ID. Not cleaned.
    public var displayTitle: String {
        [title, summary, firstMessage].compactMap { $0 }.first { !$0.isEmpty } ?? sessionID.text
    }

    /// Somebody has to answer before it goes on.
    public var needsYou: Bool { pendingPermissions > 0 || pendingQuestions > 0 }
}
