/// The members of a JSON object, in order, each key once.
///
/// Keys are the same when their bytes are (RFC 8259 §8.3), not when Unicode calls them equivalent: two members that a peer
/// tells apart must not melt into one here. Lookup is a scan up to `indexThreshold` members and a hash table beyond, so that a
/// hostile object of half a million keys costs no more than its size.
public struct JSONObject: Sendable {
    public struct Entry: Sendable, Equatable {
        public let key: String
        public internal(set) var value: JSON

        init(key: String, value: JSON) {
            (self.key, self.value) = (key, value)
        }
    }

    public private(set) var entries: [Entry] = []
    private var index: [Bytes: Int]?

    /// Below this a scan is quicker than hashing; messages have at most about twenty fields.
    private static let indexThreshold = 24

    public init() {}

    /// Duplicate keys: the last value wins, at the place of the first.
    public init(_ members: some Sequence<(key: String, value: JSON)>) {
        for member in members { self[member.key] = member.value }
    }

    public var count: Int { entries.count }
    public var isEmpty: Bool { entries.isEmpty }
    public var keys: [String] { entries.map(\.key) }

    /// Nil when there is no such member. Assigning nil removes it, anything else replaces or appends.
    public subscript(key: String) -> JSON? {
        get { position(of: key).map { entries[$0].value } }
        set {
            switch (position(of: key), newValue) {
            case (let at?, let value?): entries[at].value = value
            case (nil, let value?): append(Entry(key: key, value: value))
            case (let at?, nil): remove(at: at)
            case (nil, nil): break
            }
        }
    }

    /// The same keys in the same order with other values.
    public func mapValues(_ transform: (JSON) -> JSON) -> JSONObject {
        var copy = self
        for index in copy.entries.indices { copy.entries[index].value = transform(entries[index].value) }
        return copy
    }

    func position(of key: String) -> Int? {
        if let index { return index[Bytes(text: key)] }
        return entries.firstIndex { sameBytes($0.key, key) }
    }

    /// Adds a member whose key is known to be new.
    mutating func append(_ entry: Entry) {
        index?[Bytes(text: entry.key)] = entries.count
        // Few objects have fewer members; growing from one costs a message half of its allocations.
        if entries.isEmpty { entries.reserveCapacity(4) }
        entries.append(entry)
        if index == nil, entries.count > Self.indexThreshold { buildIndex() }
    }

    private mutating func remove(at position: Int) {
        entries.remove(at: position)
        if index != nil { buildIndex() }
    }

    private mutating func buildIndex() {
        // No key is there twice; and if one were, a peer's message should not end the daemon.
        index = Dictionary(entries.indices.map { (Bytes(text: entries[$0].key), $0) }, uniquingKeysWith: { $1 })
    }

    /// A key that hashes and compares by its bytes.
    private struct Bytes: Hashable {
        let text: String

        static func == (left: Bytes, right: Bytes) -> Bool { sameBytes(left.text, right.text) }

        func hash(into hasher: inout Hasher) {
            for byte in text.utf8 { hasher.combine(byte) }
        }
    }
}

/// Lengths differ in nearly all cases and cost nothing to compare. The last comparison tells apart what Unicode calls equal.
private func sameBytes(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count, left == right else { return false }
    let (a, b) = (left.utf8.span, right.utf8.span)
    return a.indices.allSatisfy { a[$0] == b[$0] }
}

extension JSONObject: Equatable {
    /// Order does not count: "An object is an unordered collection" (RFC 8259 §1).
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        return left.entries == right.entries || left.entries.allSatisfy { right[$0.key] == $0.value }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public typealias Key = String
    public typealias Value = JSON

    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init(elements.map { (key: $0.0, value: $0.1) })
    }
}
