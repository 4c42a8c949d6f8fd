package import MewBase

/// What left which socket when. Packet *contents* are not part of it: the TLS library draws its own random bytes.
package struct Trace {
    package struct Entry: Hashable, Sendable {
        package let time: Instant
        package let from: SocketAddress
        package let to: SocketAddress
        package let size: Int
    }

    /// Kept only when asked for: a long run has millions.
    package private(set) var entries: [Entry] = []
    package var keepsEntries = false

    /// A digest of all entries so far. Equal runs have equal digests, in any process.
    package private(set) var hash: UInt64 = 0
    package private(set) var count = 0

    mutating func record(_ entry: Entry) {
        count += 1
        add(entry.time.nanoseconds)
        add(UInt64(entry.size))
        add(entry.from.digest)
        add(entry.to.digest)
        if keepsEntries { entries.append(entry) }
    }

    private mutating func add(_ word: UInt64) {
        hash = SeededGenerator.mix(hash ^ word) &+ word
    }
}

extension SocketAddress {
    /// `Hasher` is seeded per process; this is not.
    fileprivate var digest: UInt64 {
        SeededGenerator.mix(high ^ SeededGenerator.mix(low ^ SeededGenerator.mix(UInt64(port) << 32 | UInt64(scope))))
    }
}
