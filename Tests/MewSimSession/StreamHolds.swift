internal import MewIdentity

/// Which streams between the devices and the daemon are held back, while others of the same connection go on.
///
/// `@unchecked Sendable`: it is touched by the tasks of the desk's machine (also by the handler of their cancellation, which the
/// machine's loop runs when it is killed) and by the script between two of their steps. All of that is one thread: `SimLoop` refuses
/// what comes from another.
final class StreamHolds: @unchecked Sendable {
    /// One stream that a device opened.
    struct Stream: Hashable {
        let number: UInt64
        let device: NodeID
        let isControl: Bool
    }

    private enum Hold {
        /// These ones: what the device opens from now on goes through.
        case streams(Set<UInt64>)
        /// Of every connection of the device, also of later ones: or a new one would leave the held question behind.
        case control(NodeID)

        func covers(_ stream: Stream) -> Bool {
            switch self {
            case .streams(let numbers): numbers.contains(stream.number)
            case .control(let device): stream.isControl && stream.device == device
            }
        }
    }

    private var open: [UInt64: Stream] = [:]
    private var opened: UInt64 = 0
    private var holds: [UInt64: Hold] = [:]
    private var begun: UInt64 = 0
    /// A stream has one reader.
    private var waiting: [UInt64: (stream: Stream, reader: CheckedContinuation<Void, Never>)] = [:]

    func opens(for device: NodeID, isControl: Bool) -> Stream {
        opened += 1
        let stream = Stream(number: opened, device: device, isControl: isControl)
        open[opened] = stream
        return stream
    }

    func closes(_ stream: Stream) { open[stream.number] = nil }

    /// - Returns: what `end` ends.
    func begin(_ held: SessionAct.Held, of device: NodeID) -> UInt64 {
        begun += 1
        holds[begun] =
            switch held {
            case .control: .control(device)
            case .sessions: .streams(Set(open.values.filter { $0.device == device && !$0.isControl }.map(\.number)))
            }
        return begun
    }

    func end(_ number: UInt64) {
        holds[number] = nil
        wake()
    }

    func endAll() {
        holds = [:]
        wake()
    }

    private func isHeld(_ stream: Stream) -> Bool { holds.values.contains { $0.covers(stream) } }

    private func wake() {
        for (number, waiter) in waiting.sorted(by: { $0.key < $1.key }) where !isHeld(waiter.stream) {
            waiting[number] = nil
            waiter.reader.resume()
        }
    }

    /// Returns when the stream is not held, or its reader is cancelled: then its machine is gone.
    func waitWhileHeld(_ stream: Stream) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                guard isHeld(stream), !Task.isCancelled else { return reader.resume() }
                waiting[stream.number] = (stream, reader)
            }
        } onCancel: {
            waiting.removeValue(forKey: stream.number)?.reader.resume()
        }
    }
}
