import MewBase
import MewLoop
import MewNode
import MewSession
import MewStore
import MewWire

/// The store alone: how many commits it makes durable in a second, by as many writers as there are.
struct BenchStore: Sendable {
    let writers: Int

    /// As long as a line that people read.
    private static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 200)

    /// Each writer has a session of its own and appends one event after the other, each in a commit of its own.
    func commitsPerSecond(
        in directory: StateDirectory, for time: Duration, on loop: EventLoop
    ) async throws(CommandFailure) -> Double {
        let thread: BlockingLoop
        do throws(SystemError) { thread = try BlockingLoop(name: "mew-store") } catch {
            throw CommandFailure(.internal, "cannot start a thread: \(error)")
        }
        defer { thread.stop() }
        do throws(StoreError) {
            let store = try await SQLiteStore.open(path: directory.path(StateDirectory.Name.database), on: thread)
            let clock = ContinuousClock()
            let start = clock.now
            let tasks = (0..<writers).map { _ in
                loop.spawn { await Self.write(to: store, until: start.advanced(by: time)) }
            }
            var commits = 0
            for task in tasks { commits += try await task.value.get() }
            let seconds = start.duration(to: clock.now).milliseconds / 1_000
            await store.close()
            return Double(commits) / seconds
        } catch {
            throw CommandFailure(.internal, "the store does not take it: \(error)")
        }
    }

    private static func write(
        to store: SQLiteStore, until end: ContinuousClock.Instant
    ) async -> Result<Int, StoreError> {
        let session = SessionID(BenchChannel.ids.next())
        do throws(StoreError) {
            try await store.commit([.putSession(SessionRow(id: session, body: body, isBusy: false))])
            var number = 0
            while ContinuousClock.now < end {
                number += 1
                let event = EventRow(sequence: SequenceNumber(UInt64(number)), body: body)
                try await store.commit([.appendEvent(session, event)])
            }
            return .success(number)
        } catch {
            return .failure(error)
        }
    }
}
