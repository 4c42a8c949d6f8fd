internal import MewBase
package import MewClient
package import MewWire

/// What one device was told, in all its lives, and whatever was wrong with it at once.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class Diary: @unchecked Sendable {
    /// Events of a session as they came, by epoch and number.
    package private(set) var events: [SessionID: [Epoch: [UInt64: [UInt8]]]] = [:]
    /// What each operation of this device came to, as the device was told; in order, without repeats.
    package private(set) var operations: [OperationID: [Operation.State]] = [:]
    package private(set) var verdicts: [DaemonMessage.AnswerVerdict] = []
    package private(set) var resolutions: [RequestID: DaemonMessage.RequestResolved] = [:]
    /// Numbers that left a hole or came twice, and what was told in two ways.
    package private(set) var faults: [String] = []

    /// Where the present life is in a session; nil in the middle of a snapshot.
    private struct Position {
        var epoch: Epoch?
        var sequence: UInt64?
    }

    private var positions: [SessionID: Position] = [:]

    package init() {}

    /// A new life knows nothing.
    func restarted() { positions = [:] }

    func note(_ event: ClientEvent) {
        switch event {
        case .session(let event): note(event)
        case .operation(let operation): note(operation)
        case .phase, .control, .sessionPhase: break
        }
    }

    private func note(_ operation: Operation) {
        if operations[operation.id]?.last != operation.state {
            operations[operation.id, default: []].append(operation.state)
        }
    }

    private func note(_ event: SessionEvent) {
        let session = event.session
        switch event.frame.message {
        case .sessionReady(let ready): began(ready, session)
        case .sessionHistoryPage(let page) where page.replaces:
            positions[session]?.sequence = page.asOfSequence?.rawValue
        case .answerVerdict(let verdict): verdicts.append(verdict)
        case .requestResolved(let resolved): note(resolved)
        default: break
        }
        if let sequence = event.frame.sequence { took(event.frame, sequence.rawValue, session) }
    }

    private func began(_ ready: DaemonMessage.SessionReady, _ session: SessionID) {
        switch ready.resume {
        case .replay: positions[session]?.epoch = ready.epoch
        case .new: positions[session] = Position(epoch: ready.epoch, sequence: ready.headSequence?.rawValue ?? 0)
        case .snapshot, nil: positions[session] = Position(epoch: ready.epoch, sequence: nil)
        }
    }

    private func note(_ resolved: DaemonMessage.RequestResolved) {
        if let known = resolutions[resolved.requestID], known != resolved {
            faults.append("request \(resolved.requestID) ended in two ways: \(known) and \(resolved)")
        }
        resolutions[resolved.requestID] = resolved
    }

    private func took(_ frame: DaemonFrame, _ sequence: UInt64, _ session: SessionID) {
        guard let position = positions[session], let epoch = position.epoch else {
            return faults.append("event \(sequence) before session_ready")
        }
        if position.sequence.map({ $0 + 1 }) != sequence {
            faults.append("event \(sequence) after \(position.sequence.map(String.init) ?? "nothing")")
        }
        positions[session]?.sequence = sequence
        let bytes = frame.encoded(for: .native) ?? []
        let former = events[session, default: [:]][epoch, default: [:]].updateValue(bytes, forKey: sequence)
        if let former, former != bytes { faults.append("event \(sequence) came in two forms") }
    }
}
