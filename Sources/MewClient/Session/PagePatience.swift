/// How often a page is asked for again that the daemon has no room for, and after which waits.
///
/// A daemon sets room aside for each page of a device before it reads it, and answers `busy` while too much waits to be read by
/// that device. Nothing tells when there is room, so that asking again is all there is; it ends after 12 s, because a person
/// waits.
struct PagePatience {
    static let waits: [Duration] = [
        .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(4),
    ]

    private var refusals = 0

    /// It was refused: how long to wait before it is asked for again; nil when it was asked for often enough.
    mutating func refused() -> Duration? {
        defer { refusals += 1 }
        return refusals < Self.waits.count ? Self.waits[refusals] : nil
    }
}
