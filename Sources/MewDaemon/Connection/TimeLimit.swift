import MewLoop

/// Runs `body` for at most `limit`: then its task is cancelled, and awaited. What it waits for must heed cancellation.
func withTimeLimit(_ limit: Duration, on loop: any Loop, _ body: @escaping @Sendable () async -> Void) async {
    await withTaskGroup { group in
        group.addTask { await body() }
        group.addTask { try? await LoopClock(loop).sleep(for: limit) }
        await group.next()
        group.cancelAll()
    }
}
