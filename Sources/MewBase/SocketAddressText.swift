// Text forms: `192.0.2.1:443` and `[2001:db8::1]:443` (RFC 3986 §3.2.2, IPv6 text after RFC 5952), a link-local scope as
// `[fe80::1%2]:443`. Numbers only: names are never resolved here.

extension SocketAddress {
    public var description: String {
        switch family {
        case .ipv4: "\(host):\(port)"
        case .ipv6: "[\(host)]:\(port)"
        }
    }

    /// The address without its port.
    public var host: String {
        switch family {
        case .ipv4: (0..<4).map { String(ipv4 >> UInt32(24 - 8 * $0) & 255) }.joined(separator: ".")
        case .ipv6: Self.ipv6Text(groups) + (scope == 0 ? "" : "%\(scope)")
        }
    }

    private var groups: [UInt16] {
        (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> UInt64(48 - 16 * ($0 % 4))) }
    }

    /// RFC 5952 §4.2: the longest run of at least two zero groups is shortened, the first one on a tie.
    private static func ipv6Text(_ groups: [UInt16]) -> String {
        var best = 0..<0
        var start = 0
        for index in 0...8 where index == 8 || groups[index] != 0 {
            if index - start > max(best.count, 1) { best = start..<index }
            start = index + 1
        }
        func text(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
        guard !best.isEmpty else { return text(groups[...]) }
        return text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...])
    }

    /// Parses `address:port`; an IPv6 address stands in brackets. Nil for everything else.
    public init?(_ text: some StringProtocol) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        guard let port = Self.number(text[text.index(after: colon)...], max: 65_535) else { return nil }
        self.init(host: text[..<colon], port: UInt16(port))
    }

    /// - Parameter host: `192.0.2.1`, or an IPv6 address in brackets.
    private init?(host: some StringProtocol, port: UInt16) {
        if host.first == "[", host.last == "]" {
            self.init(ipv6: host.dropFirst().dropLast(), port: port)
        } else {
            let parts = host.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 4 else { return nil }
            var address: UInt32 = 0
            for part in parts {
                guard let byte = Self.number(part, max: 255) else { return nil }
                address = address << 8 | byte
            }
            self.init(ipv4: address, port: port)
        }
    }

    private init?(ipv6 text: some StringProtocol, port: UInt16) {
        let scoped = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        var scope: UInt32 = 0
        if scoped.count == 2 {
            guard let index = Self.number(scoped[1], max: .max) else { return nil }
            scope = index
        }
        guard let address = scoped.first, let groups = Self.ipv6Groups(String(address)) else { return nil }
        let words = groups.reduce(into: (high: UInt64(0), low: UInt64(0))) { words, group in
            words.high = words.high << 16 | words.low >> 48
            words.low = words.low << 16 | UInt64(group)
        }
        self.init(ipv6High: words.high, low: words.low, port: port, scope: scope)
    }

    private static func ipv6Groups(_ text: String) -> [UInt16]? {
        guard let gap = text.range(ofPair: ":") else {
            guard let groups = groupList(text[...], mayEndDotted: true), groups.count == 8 else { return nil }
            return groups
        }
        guard let head = groupList(text[..<gap.lowerBound], mayEndDotted: false),
            let tail = groupList(text[gap.upperBound...], mayEndDotted: true),
            head.count + tail.count < 8
        else { return nil }
        return head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail
    }

    /// Groups between single colons; at the end of the whole address a dotted IPv4 address may stand for the last two.
    private static func groupList(_ text: Substring, mayEndDotted: Bool) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var groups: [UInt16] = []
        for (index, part) in parts.enumerated() {
            if mayEndDotted, index == parts.count - 1, part.contains(".") {
                guard let tail = SocketAddress(host: part, port: 0) else { return nil }
                groups += [UInt16(tail.ipv4 >> 16), UInt16(tail.ipv4 & 0xffff)]
            } else {
                guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy(isHex),
                    let group = UInt16(part, radix: 16)
                else { return nil }
                groups.append(group)
            }
        }
        return groups
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    /// Decimal digits only, no sign, no leading zero (some parsers read `010` as eight), at most `max`.
    private static func number(_ text: some StringProtocol, max: UInt32) -> UInt32? {
        guard (1...10).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        guard text.utf8.count == 1 || text.utf8.first != 48 else { return nil }
        guard let value = UInt32(text), value <= max else { return nil }
        return value
    }
}

extension String {
    /// The first place where `character` stands twice in a row.
    fileprivate func range(ofPair character: Character) -> Range<Index>? {
        for index in indices where self[index] == character {
            let next = self.index(after: index)
            if next < endIndex, self[next] == character { return index..<self.index(after: next) }
        }
        return nil
    }
}
