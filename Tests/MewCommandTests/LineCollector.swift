import Synchronization

@testable import mew

/// Keeps what a command printed.
final class LineCollector: LineSink {
    private let kept = Mutex("")

    var text: String { kept.withLock { $0 } }
    var lines: [String] { text.split(separator: "\n").map(String.init) }

    func write(_ text: String) {
        kept.withLock { $0 += text }
    }
}
