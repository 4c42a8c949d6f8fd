/// What happens in a simulated world, and when.
package protocol TimedScript {
    associatedtype Entry: TimedEntry
    var entries: [Entry] { get set }
}

package protocol TimedEntry {
    /// Since the one before.
    var after: Duration { get set }
}

extension TimedScript {
    /// The shortest script that still breaks the law, as far as leaving out finds it. What is left out leaves its time to the next
    /// one, so that the others happen when they did.
    ///
    /// - Parameter tries: scripts to ask about at most.
    package func shrunk(tries: Int, whileBroken isBroken: (Self) -> Bool) -> Self {
        var (best, size, tries) = (self, max(1, entries.count / 2), tries)
        while true {
            var start = 0
            while start < best.entries.count {
                let shorter = best.without(start..<min(start + size, best.entries.count))
                tries -= 1
                if tries >= 0, isBroken(shorter) { best = shorter } else { start += size }
            }
            if size == 1 { return best }
            size /= 2
        }
    }

    private func without(_ range: Range<Int>) -> Self {
        var script = self
        let time = entries[range].reduce(Duration.zero) { $0 + $1.after }
        if range.upperBound < entries.count { script.entries[range.upperBound].after += time }
        script.entries.removeSubrange(range)
        return script
    }
}
