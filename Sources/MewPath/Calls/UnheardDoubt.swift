package import MewBase

/// Whether the dialler believes the listener that says it does not hear us: a dialler that was not let run for a moment hears
/// the listener's packets and its call together, and its own answers are on their way already. A value.
package struct UnheardDoubt: Sendable {
    private var doubted: (mark: PathMark, since: Instant)?

    /// Shorter than any pause between two calls of a listener: when it calls again it has had our answers for long, or there
    /// is no way for them.
    static let patience: Duration = .milliseconds(200)

    package init() {}

    /// - Parameters:
    ///   - mark: names the present path.
    ///   - lastProof: when a packet of the connection came last.
    package mutating func believes(_ mark: PathMark, lastProof: Instant, now: Instant) -> Bool {
        guard lastProof.duration(to: now) < Self.patience else {
            doubted = nil
            return true
        }
        if let doubted, doubted.mark == mark { return doubted.since.duration(to: now) >= Self.patience }
        doubted = (mark, now)
        return false
    }
}
