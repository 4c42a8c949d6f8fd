/// Texts of our own prompts whose echo is still to come; stock links only (spec/mew-wire.md §5.5).
struct OwnEchoes: Sendable {
    private var texts: [String] = []

    /// A person sends a few before the first is echoed; of a prompt that is forgotten the echo looks like somebody else's.
    private static let capacity = 16

    mutating func sent(_ text: String) {
        texts.append(text)
        if texts.count > Self.capacity { texts.removeFirst() }
    }

    /// Whether a `user_message` is one of them; each echo counts once.
    mutating func take(_ text: String) -> Bool {
        guard let index = texts.firstIndex(of: text) else { return false }
        texts.remove(at: index)
        return true
    }
}
