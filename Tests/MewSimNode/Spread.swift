internal import MewBase

/// How long the same thing took for several seeds. A value.
package struct Spread: Sendable, CustomStringConvertible {
    /// The shortest first.
    private let times: [Duration]
    private let never: Int

    /// - Parameter times: nil where it never happened.
    package init(_ times: [Duration?]) {
        self.times = times.compactMap { $0 }.sorted()
        never = times.count - self.times.count
    }

    /// Nil when that never happened.
    package var worst: Duration? { never == 0 ? times.last : nil }

    /// The upper one of the two in the middle; nil when that never happened.
    package var median: Duration? {
        let middle = (times.count + never) / 2
        return times.indices.contains(middle) ? times[middle] : nil
    }

    package var description: String {
        "median \(Self.text(median)), at most \(Self.text(worst)), of \(times.count + never)"
    }

    private static func text(_ time: Duration?) -> String {
        time.map { "\(Int($0.milliseconds)) ms" } ?? "never"
    }
}
