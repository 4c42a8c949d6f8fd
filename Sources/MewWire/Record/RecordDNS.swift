internal import MewBase
internal import MewIdentity

/// The DNS message inside a signed record: answers only, each a TXT of the owner `_iroh.<node ID in z-base-32>` (RFC 1035,
/// spec/iroh-wire.md §5.3).
enum RecordDNS {
    private static let txt: UInt16 = 16
    private static let internet: UInt16 = 1
    /// Seconds; also how often a resolver may ask again.
    private static let timeToLive: UInt32 = 30
    /// A name of at most 255 bytes has no more labels than this (RFC 1035 §3.1).
    private static let maxLabels = 128

    /// Strings that do not fit are left out, from the end.
    static func encode(_ record: AddressRecord, of node: NodeID, maxBytes: Int) -> [UInt8] {
        var body: [UInt8] = []
        var count: UInt16 = 0
        for string in record.strings {
            let owner = count == 0 ? name(node) : [0xc0, 0x0c]
            let answer = owner + header(of: string)
            guard 12 + body.count + answer.count <= maxBytes else { break }
            body += answer
            count += 1
        }
        // Identifier, flags "response", no questions, the answers, nothing else.
        return words([0, 0x8000, 0, count, 0, 0]) + body
    }

    private static func header(of string: String) -> [UInt8] {
        let data = characterStrings(string)
        return words([txt, internet, UInt16(timeToLive >> 16), UInt16(timeToLive & 0xffff), UInt16(data.count)]) + data
    }

    /// RFC 1035 §3.3: each at most 255 bytes, with its length before it.
    private static func characterStrings(_ string: String) -> [UInt8] {
        let bytes = Array(string.utf8)
        return stride(from: 0, to: max(1, bytes.count), by: 255).flatMap { start in
            let piece = bytes[start..<min(start + 255, bytes.count)]
            return [UInt8(piece.count)] + piece
        }
    }

    private static func name(_ node: NodeID) -> [UInt8] {
        [5] + Array("_iroh".utf8) + [52] + Array(node.z32.utf8) + [0]
    }

    private static func words(_ words: [UInt16]) -> [UInt8] {
        words.flatMap(\.bigEndianBytes)
    }

    // MARK: Reading

    /// The TXT strings of `node`; nil when the message is no DNS response. Other records are skipped.
    static func strings(in message: [UInt8], of node: NodeID) -> [String]? {
        guard message.count >= 12, message[2] & 0x80 != 0 else { return nil }
        var reader = Reader(bytes: message, position: 4)
        guard let questions = reader.word(), let answers = reader.word() else { return nil }
        guard questions == 0 else { return nil }
        reader.position = 12
        var strings: [String] = []
        for _ in 0..<answers {
            guard let owner = reader.name(), let type = reader.word(), reader.word() != nil, reader.word() != nil,
                reader.word() != nil, let length = reader.word(), let data = reader.take(Int(length))
            else { return nil }
            guard type == txt, isOwn(owner, node) else { continue }
            guard let string = text(data) else { return nil }
            strings.append(string)
        }
        return strings
    }

    private static func isOwn(_ owner: [ArraySlice<UInt8>], _ node: NodeID) -> Bool {
        owner.count == 2 && owner[0].elementsEqual("_iroh".utf8)
            && String(decoding: owner[1], as: UTF8.self).lowercased() == node.z32
    }

    /// Character strings, joined; nil when they do not fill `data` exactly, or are no UTF-8.
    private static func text(_ data: ArraySlice<UInt8>) -> String? {
        var rest = data
        var joined: [UInt8] = []
        while let length = rest.popFirst() {
            guard rest.count >= length else { return nil }
            joined += rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
        }
        return String(validating: joined, as: UTF8.self)
    }

    private struct Reader {
        let bytes: [UInt8]
        var position: Int

        mutating func word() -> UInt16? {
            take(2).map { $0.reduce(0) { $0 << 8 | UInt16($1) } }
        }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard bytes.count - position >= count else { return nil }
            defer { position += count }
            return bytes[position..<(position + count)]
        }

        /// Labels, through compression pointers (RFC 1035 §4.1.4), each of which must point backwards: no loops.
        mutating func name() -> [ArraySlice<UInt8>]? {
            var labels: [ArraySlice<UInt8>] = []
            var end: Int?
            defer { if let end { position = end } }
            while labels.count < RecordDNS.maxLabels {
                let start = position
                guard let length = take(1)?.first else { return nil }
                switch length {
                case 0: return labels
                case 1..<64:
                    guard let label = take(Int(length)) else { return nil }
                    labels.append(label)
                case 0xc0...:
                    guard let low = take(1)?.first else { return nil }
                    end = end ?? position
                    let target = Int(length & 0x3f) << 8 | Int(low)
                    guard target < start else { return nil }
                    position = target
                default: return nil
                }
            }
            return nil
        }
    }
}
