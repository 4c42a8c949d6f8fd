/// A value that belongs to one loop and is passed only between the actors pinned to that loop, within a turn.
///
/// `@unchecked Sendable`: endpoint and connections have the same executor, one thread, and every use is inside one of
/// them, so two threads never see the value. The compiler cannot know that two actors share an executor.
struct LoopBound<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
