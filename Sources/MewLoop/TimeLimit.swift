/// What came of something that had a time limit.
package struct Limited<Value: Sendable>: Sendable {
    package let value: Value
    /// The time was up first. Then the task was cancelled, and `value` is what it answered to that: done a moment late is done.
    package let isLate: Bool

    /// The result, with `failure` in place of its own when the time was up.
    package func result<Success, Failure: Error>(
        late failure: Failure
    ) -> Result<Success, Failure> where Value == Result<Success, Failure> {
        isLate ? value.mapError { _ in failure } : value
    }
}

/// Runs `body` for at most `limit`: then its task is cancelled, and awaited. What it waits for must heed cancellation.
///
/// A caller that is cancelled itself cancels `body` at once; that is not late.
@discardableResult
package func withTimeLimit<Value: Sendable>(
    _ limit: Duration, on loop: any Loop, _ body: @escaping @Sendable () async -> Value
) async -> Limited<Value> {
    await withTaskGroup(of: LimitedAnswer<Value>.self) { group in
        group.addTask { .body(await body()) }
        group.addTask { .timer(await LoopClock(loop).pause(for: limit)) }
        var isLate = false
        while let answer = await group.next() {
            group.cancelAll()
            switch answer {
            case .body(let value): return Limited(value: value, isLate: isLate)
            case .timer(let pause): isLate = pause == .over
            }
        }
        preconditionFailure("a group ends only after its tasks have answered")
    }
}

/// Of the two tasks of `withTimeLimit`.
private enum LimitedAnswer<Value: Sendable>: Sendable {
    case body(Value)
    case timer(Pause)
}
