import MewDaemon
import MewIdentity

/// Knocks that wait for an answer, oldest first; one is on the screen at a time.
struct KnockQueue {
    struct Entry: Equatable {
        let number: KnockNumber
        let node: NodeID
        let name: String?
        let digits: String?
    }

    enum Typed: Equatable {
        case nothingAsked
        /// Meant for another knock, which left the screen under the person's fingers.
        case tooEarly
        /// The knock has left the queue.
        case answers(KnockNumber)
    }

    private var waiting: [Entry] = []
    private var shown: (number: KnockNumber, answerable: ContinuousClock.Instant)?
    /// When the last question left the screen without an answer.
    private var lastLeft: ContinuousClock.Instant?

    /// The one on the screen.
    var shownEntry: Entry? { waiting.first { $0.number == shown?.number } }

    mutating func add(_ entry: Entry) {
        waiting.append(entry)
    }

    /// The knock is over without an answer from here.
    mutating func remove(_ number: KnockNumber, now: ContinuousClock.Instant) {
        waiting.removeAll { $0.number == number }
        guard shown?.number == number else { return }
        shown = nil
        lastLeft = now
    }

    /// The next to be shown; nil while one is on the screen.
    mutating func nextToShow(now: ContinuousClock.Instant) -> Entry? {
        guard shown == nil, let entry = waiting.first else { return nil }
        // Whoever was about to answer the last question has not seen this one.
        shown = (entry.number, lastLeft?.advanced(by: QuestionDesk.grace) ?? now)
        return entry
    }

    /// A person has typed a line: which knock it is for.
    mutating func typed(now: ContinuousClock.Instant) -> Typed {
        guard let shown else { return .nothingAsked }
        guard now >= shown.answerable else { return .tooEarly }
        waiting.removeAll { $0.number == shown.number }
        self.shown = nil
        return .answers(shown.number)
    }
}
