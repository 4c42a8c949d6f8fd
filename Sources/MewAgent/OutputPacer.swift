import MewBase

/// Decides when the output of a running command is read and told: gathered for 50 ms, never more than one batch ahead.
///
/// Pure value: feed it with `receive`, perform every `Action` of `due(now:)`, wait until `nextDeadline` or, while
/// `wantsBytes` is true, until the command writes. When `wantsBytes` is false the pipe is left alone, so that a command that
/// floods (`yes`) blocks in its write: that is the back-pressure, and nothing is buffered.
///
/// The first `liveBytes` are told as they come. Then a note is told once, and the rest is only kept (`KeptOutput`), read at a
/// pace that bounds what a flood costs the daemon.
///
/// A stock phone shows no progress, only whole parts (spec/mew-wire.md §5.8): for it a snapshot of the output so far is due
/// after 1 s and then after twice as long each time, up to 30 s, when there is anything new.
struct OutputPacer {
    enum Action: Equatable {
        case progress(String)
        /// Replace the whole output of the running part.
        case snapshot(String)
    }

    /// spec/mew-wire.md §4.5.
    static let gather: Duration = .milliseconds(50)
    /// What a pipe holds on Linux: one read empties it. With `gather` it limits a flood to 1.3 MB/s.
    static let batchBytes = 64 << 10
    /// Every byte told live is stored in the journal and sent to every client; people read the end of more than this.
    static let liveBytes = 1 << 20
    /// Pause between batches when nothing is told any more: 13 MB/s, a percent of one core.
    static let quietPause: Duration = .milliseconds(5)
    static let firstSnapshot: Duration = .seconds(1)
    static let longestSnapshotPause: Duration = .seconds(30)
    static let quietNote = "\n… the output goes on; from here only its end is kept …\n"

    private(set) var kept = KeptOutput()
    private var assembler = TextAssembler()
    private var batch = ""
    private var batchSize = 0
    /// When the batch is told, or, once quiet, when reading goes on.
    private var batchDue: Instant?
    private var liveLeft = Self.liveBytes
    private var snapshotDue: Instant
    private var snapshotPause = Self.firstSnapshot
    private var hasUnseen = false

    init(now: Instant) {
        snapshotDue = now.advanced(by: Self.firstSnapshot)
    }

    private var isQuiet: Bool { liveLeft == 0 }

    /// How many bytes may be read now; zero leaves the pipe alone.
    var readableBytes: Int { Self.batchBytes - batchSize }

    var nextDeadline: Instant? {
        [batchDue, hasUnseen ? snapshotDue : nil].compactMap(\.self).min()
    }

    /// - Parameter bytes: at most `readableBytes`.
    mutating func receive(_ bytes: some Collection<UInt8>, now: Instant) {
        let text = assembler.append(bytes)
        batchSize += bytes.count
        take(text)
        batchDue = batchDue ?? now.advanced(by: isQuiet ? Self.quietPause : Self.gather)
    }

    mutating func due(now: Instant) -> [Action] {
        let isSnapshotDue = hasUnseen && snapshotDue <= now
        // A snapshot holds the open batch too: told later, its text would stand there twice.
        guard isSnapshotDue || batchDue.map({ $0 <= now }) == true else { return [] }
        return closeBatch() + (isSnapshotDue ? [takeSnapshot(now: now)] : [])
    }

    private mutating func takeSnapshot(now: Instant) -> Action {
        hasUnseen = false
        snapshotPause = min(snapshotPause * 2, Self.longestSnapshotPause)
        snapshotDue = now.advanced(by: snapshotPause)
        return .snapshot(kept.text)
    }

    /// The command has ended: tells what is left at once.
    mutating func finish() -> [Action] {
        take(assembler.finish())
        return closeBatch()
    }

    private mutating func take(_ text: String) {
        guard !text.isEmpty else { return }
        kept.append(text)
        hasUnseen = true
        if !isQuiet { batch += text }
    }

    private mutating func closeBatch() -> [Action] {
        defer {
            batch = ""
            batchSize = 0
            batchDue = nil
        }
        guard !batch.isEmpty else { return [] }
        let told = batch.utf8.count
        liveLeft = max(liveLeft - told, 0)
        return [.progress(isQuiet ? batch + Self.quietNote : batch)]
    }
}
