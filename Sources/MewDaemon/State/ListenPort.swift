package import MewBase

/// Which UDP addresses a daemon tries to listen on, in which order (DESIGN §5).
///
/// Addresses given with `--bind` are bound or the start fails: a forwarded port that silently became another one is worse
/// than an error (NEEDS N-08). Otherwise all addresses, one port: the one kept from the first start, or a new random one with
/// a warning when that is taken.
package struct ListenPort: Sendable {
    /// Where new ports are drawn from: above the well-known ones and below 32768, where Linux takes the ports of outgoing
    /// sockets, one of which could sit on ours at the next start.
    static let range: ClosedRange<UInt16> = 10_000...32_767
    /// A machine on which sixteen random ports are taken has other troubles.
    static let freshTries = 16

    /// One set of addresses to bind.
    package enum Attempt: Equatable, Sendable {
        /// Given by the user.
        case fixed([SocketAddress])
        /// All addresses of both families.
        case wildcard(port: UInt16, isKept: Bool)
    }

    private let given: [SocketAddress]
    private let kept: UInt16?

    package init(given: [SocketAddress], kept: UInt16?) {
        self.given = given
        self.kept = kept
    }

    /// Try these in order until one can be bound.
    package func attempts(entropy: some Entropy) -> [Attempt] {
        guard given.isEmpty else { return [.fixed(given)] }
        let fresh = (0..<Self.freshTries).map { _ in
            Attempt.wildcard(port: Self.draw(entropy), isKept: false)
        }
        return (kept.map { [.wildcard(port: $0, isKept: true)] } ?? []) + fresh
    }

    private static func draw(_ entropy: some Entropy) -> UInt16 {
        range.lowerBound + UInt16(entropy.uint64() % UInt64(range.count))
    }

    // MARK: The file

    /// Decimal digits and a line feed.
    static func stored(_ port: UInt16) -> [UInt8] {
        Array("\(port)\n".utf8)
    }

    /// Nil for anything else.
    static func parse(_ bytes: [UInt8]) -> UInt16? {
        let digits = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
        guard (1...5).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return UInt16(String(decoding: digits, as: UTF8.self)).flatMap { $0 == 0 ? nil : $0 }
    }
}
