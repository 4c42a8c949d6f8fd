public import MewIdentity
public import MewWire

/// Something a person is writing to a session; kept by the device, so that no restart costs a word.
public struct Draft: Hashable, Sendable {
    public let daemon: NodeID
    public let session: SessionID
    public let revision: DraftRevision
    public let text: String
}

/// Each change of a draft has another one: a receipt clears only the text that it is about.
public struct DraftRevision: Hashable, Sendable, Comparable {
    let number: UInt64

    public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}

/// The drafts of one device, one a session at most.
public struct Drafts: Hashable, Sendable {
    /// The one that was changed last is last.
    public private(set) var all: [Draft]
    /// Grows with every change and for ever: a draft that was cleared and begun anew is another one, and of two states of the
    /// drafts the newer one is known.
    private(set) var lastRevision: UInt64

    /// The bytes of one text. More is a file.
    public static let maxBytes = 64 << 10
    /// Beyond these the one that was left alone for longest goes.
    public static let maxDrafts = 100
    public static let maxTotalBytes = 2 << 20

    init(_ all: [Draft] = [], lastRevision: UInt64 = 0) {
        (self.all, self.lastRevision) = (all, lastRevision)
    }

    /// The last change.
    var last: DraftRevision { DraftRevision(number: lastRevision) }

    public subscript(daemon: NodeID, session: SessionID) -> Draft? {
        all.first { $0.daemon == daemon && $0.session == session }
    }

    /// Keeps what is written now; nothing is no draft, and the same text is the same draft.
    ///
    /// - Returns: nil, and nothing is changed, when the text is too long.
    public mutating func write(_ text: String, to session: SessionID, of daemon: NodeID) -> DraftRevision? {
        guard text.utf8.count <= Self.maxBytes else { return nil }
        if let written = self[daemon, session], written.text == text { return written.revision }
        lastRevision += 1
        let revision = DraftRevision(number: lastRevision)
        all.removeAll { $0.daemon == daemon && $0.session == session }
        guard !text.isEmpty else { return revision }
        all.append(Draft(daemon: daemon, session: session, revision: revision, text: text))
        shrink()
        return revision
    }

    private mutating func shrink() {
        var bytes = all.reduce(0) { $0 + $1.text.utf8.count }
        while all.count > Self.maxDrafts || bytes > Self.maxTotalBytes {
            bytes -= all.removeFirst().text.utf8.count
        }
    }

    /// The daemon has this text. What was written since stays.
    mutating func clear(_ revision: DraftRevision) {
        guard let index = all.firstIndex(where: { $0.revision == revision }) else { return }
        all.remove(at: index)
        lastRevision += 1
    }

    mutating func forget(_ daemon: NodeID) {
        all.removeAll { $0.daemon == daemon }
    }
}
