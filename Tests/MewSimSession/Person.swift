internal import MewBase
internal import MewClient
internal import MewLoop
internal import MewSim
package import MewWire

/// Who types on one device. Says one thing after the other; says it again, in the same words, when it certainly came to nothing;
/// never when nobody knows.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class Person: @unchecked Sendable {
    package enum Manner: Sendable { case prompt, guide }

    private struct Words {
        let text: String
        let session: SessionID
        let manner: Manner
        /// How often it was begun.
        var times = 0
    }

    private let number: Int
    private var desk: (supervisor: DaemonSupervisor, machine: SimNode)?
    private var toSay: [Words] = []
    /// What is being said; begun when an operation of it was recorded.
    private var current: Words?
    private var isBegun = false
    private var said: [OperationID: Words] = [:]
    private var saidAgain: Set<OperationID> = []

    /// Whoever has no luck so often gives up.
    private static let maxTimes = 3
    private static let maxTries = 60
    private static let pause: Duration = .seconds(1)

    init(_ number: Int) { self.number = number }

    /// The words of each operation, as they were said.
    package var texts: [OperationID: String] { said.mapValues(\.text) }
    package func isPrompt(_ operation: OperationID) -> Bool { said[operation]?.manner == .prompt }
    /// Nothing is left to say.
    package var isDone: Bool { toSay.isEmpty && current == nil }

    /// What was not begun before is said now.
    func sitsDown(at supervisor: DaemonSupervisor, on machine: SimNode) {
        if let current, !isBegun { toSay.insert(current, at: 0) }
        current = nil
        desk = (supervisor, machine)
        goOn()
    }

    /// The device is gone. Its disk may still finish what it was writing: what was begun shows when it is back.
    func leaves() { desk = nil }

    func say(_ text: String, in session: SessionID, _ manner: Manner) {
        toSay.append(Words(text: text, session: session, manner: manner))
        goOn()
    }

    /// The device recorded an operation.
    func began(_ operation: Operation) {
        guard operation.kind == .prompt || operation.kind == .guide, var words = current else { return }
        words.times += 1
        said[operation.id] = words
        isBegun = true
    }

    func heard(_ operation: Operation) {
        guard let words = said[operation.id], words.times < Self.maxTimes, words.manner == .prompt else { return }
        switch operation.state {
        // It can never happen any more, or was refused: the same words are safe.
        case .absent, .refused:
            guard saidAgain.insert(operation.id).inserted else { return }
            toSay.append(words)
            goOn()
        case .sending, .stored, .delivered, .settled, .unknown: break
        }
    }

    private func goOn() {
        guard current == nil, !toSay.isEmpty, let desk else { return }
        let words = toSay.removeFirst()
        (current, isBegun) = (words, false)
        let (supervisor, machine) = desk
        machine.loop.spawn { [self] in
            await say(words, to: supervisor, on: machine)
            guard machine.isAlive else { return }
            current = nil
            goOn()
        }
    }

    private func say(_ words: Words, to supervisor: DaemonSupervisor, on machine: SimNode) async {
        for _ in 0..<Self.maxTries {
            do throws(ClientError) {
                switch words.manner {
                case .prompt: _ = try await supervisor.prompt(words.text, in: words.session)
                case .guide: _ = try await supervisor.guide(words.text, in: words.session)
                }
                return
            } catch {
                // Once it is begun, its operation tells how it went.
                if isBegun { return }
            }
            guard await LoopClock(machine.loop).pause(for: Self.pause) == .over else { return }
        }
    }
}
