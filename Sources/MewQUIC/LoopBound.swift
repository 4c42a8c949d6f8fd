/// A value that belongs to one loop and is passed only between what is bound to that loop.
///
/// `@unchecked Sendable`: whoever takes it out is an actor pinned to the loop, a callback of the loop, or has asked
/// `Loop.isCurrent`. That is one thread, so two never see the value. The compiler cannot know that several actors share an
/// executor.
struct LoopBound<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
