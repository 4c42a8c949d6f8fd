import Synchronization

/// The keepers of a node's dialled connections. Asked from any thread.
final class PathKeepers: Sendable {
    private struct State {
        var keepers: [UInt64: PathKeeper] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    /// In the order in which the connections were made.
    var all: [PathKeeper] {
        state.withLock { state in state.keepers.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// Knows `keeper` while `body` runs.
    func with(_ keeper: PathKeeper, _ body: () async -> Void) async {
        let number = state.withLock { state in
            state.last += 1
            state.keepers[state.last] = keeper
            return state.last
        }
        await body()
        state.withLock { $0.keepers[number] = nil }
    }
}
