import MewWire

/// Older pages that were asked for and are on their way, the oldest question first.
struct AskedPages: Sendable {
    /// The `ref` of each request, and its cursor.
    private var asked: [(ref: String, before: UInt64)] = []

    /// A person scrolls through a few; the answer to a question that is forgotten is not taken.
    private static let capacity = 8

    /// A page before what is shown was asked for; its answer carries `ref`.
    mutating func add(before: UInt64, ref: String) {
        asked.append((ref, before))
        if asked.count > Self.capacity { asked.removeFirst() }
    }

    /// What was asked with this answer. Stock daemons answer in order and name nothing.
    mutating func take(_ ref: String?) -> UInt64? {
        let index = ref.map { ref in asked.firstIndex { $0.ref == ref } } ?? asked.indices.first
        return index.map { asked.remove(at: $0).before }
    }
}
