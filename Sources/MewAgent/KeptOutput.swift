/// The output of a command as it is kept: its beginning and its end, and between them how much is missing.
///
/// What a person looks for stands at the start (what was run, the first error) or at the end (the result). Bounded, because
/// it is stored with the session and sent to every client that attaches.
struct KeptOutput {
    /// Both together stay below the 64 KiB that the first screen of a session may take.
    static let headBytes = 24 << 10
    static let tailBytes = 24 << 10

    private var head = ""
    private var isHeadFull = false
    /// The newest pieces; the first one may be partly outside the tail.
    private var tail: [String] = []
    private var tailLength = 0
    private(set) var totalBytes = 0

    mutating func append(_ text: String) {
        totalBytes += text.utf8.count
        let rest = fillHead(with: text)
        guard !rest.isEmpty else { return }
        tail.append(rest)
        tailLength += rest.utf8.count
        dropOldPieces()
    }

    /// Head, marker and tail.
    var text: String {
        let end = Self.suffix(of: tail.joined(), maxBytes: Self.tailBytes)
        let missing = totalBytes - head.utf8.count - end.utf8.count
        guard missing > 0 else { return head + end }
        return head + "\n… \(missing) bytes left out …\n" + end
    }

    /// Returns what did not fit. Once a character did not fit, nothing more goes in: the head has no holes.
    private mutating func fillHead(with text: String) -> String {
        guard !isHeadFull else { return text }
        let room = Self.headBytes - head.utf8.count
        if text.utf8.count <= room {
            head += text
            return ""
        }
        isHeadFull = true
        let cut = Self.boundary(in: text, atOrBefore: room)
        head += text[..<cut]
        return String(text[cut...])
    }

    private mutating func dropOldPieces() {
        var drop = 0
        while tailLength - tail[drop].utf8.count >= Self.tailBytes {
            tailLength -= tail[drop].utf8.count
            drop += 1
        }
        if drop > 0 { tail.removeFirst(drop) }
        // Many tiny pieces would make `removeFirst` and `joined` dear; a few hundred are not.
        if tail.count > 512 { tail = [tail.joined()] }
    }

    private static func suffix(of text: String, maxBytes: Int) -> Substring {
        guard text.utf8.count > maxBytes else { return text[...] }
        var start = text.utf8.index(text.endIndex, offsetBy: -maxBytes)
        while start < text.endIndex, UTF8.isContinuation(text.utf8[start]) { start = text.utf8.index(after: start) }
        return text[start...]
    }

    private static func boundary(in text: String, atOrBefore byte: Int) -> String.Index {
        var index = text.utf8.index(text.startIndex, offsetBy: byte)
        while UTF8.isContinuation(text.utf8[index]) { index = text.utf8.index(before: index) }
        return index
    }
}
