public import MewWire

extension [Message] {
    /// As a history is read: a prompt that waited stands before its own answer, not inside the turn in which it was said.
    ///
    /// Messages are kept in the order in which they were said, because positions count in it. Turns begin in the order of their
    /// prompts; what never began stands behind what began before, or at the end.
    public var inOrderOfTurns: [Message] {
        var (ordered, waiting): ([Message], [Message]) = ([], [])
        var running: TurnID?
        for message in self {
            if message.role == .assistant, let turn = message.turn, turn != running {
                running = turn
                let begun = (waiting.lastIndex { $0.turn == turn } ?? -1) + 1
                ordered += waiting[..<begun]
                waiting.removeFirst(begun)
            }
            if message.role == .user, let turn = message.turn, turn != running {
                waiting.append(message)
            } else {
                ordered.append(message)
            }
        }
        return ordered + waiting
    }
}
