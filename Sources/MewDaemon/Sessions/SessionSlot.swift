/// What is in memory of one session: nothing (nil), its load, or its runner, of which there is one at a time.
///
///     nil ──asked──▶ loading ──read──▶ loaded ──left──▶ nil
///      │                └──unreadable──▶ nil      (it broke, was put away, or is erased)
///      └──made──▶ loaded
///
/// Pure: `SessionRegistry` tells it what happened and keeps what `after` says.
enum SessionSlot<Loading, Runner: AnyObject> {
    case loading(Loading)
    case loaded(Runner)

    enum Event {
        /// Somebody wants the session, and this load was begun.
        case asked(Loading)
        /// The load ended with a runner.
        case read(Runner)
        /// The load ended without one.
        case unreadable
        /// The session is new.
        case made(Runner)
        /// The runner is to do nothing more.
        case left(Runner)
    }

    static func after(_ event: Event, in slot: Self?) -> Self? {
        switch (slot, event) {
        case (nil, .asked(let loading)): .loading(loading)
        case (nil, .made(let runner)), (.loading?, .read(let runner)): .loaded(runner)
        case (.loading?, .unreadable): nil
        case (.loaded(let loaded)?, .left(let runner)): loaded === runner ? nil : slot
        // What is there stays: a second runner would be a second agent, and one that left already has nothing to leave.
        case (nil, .read), (nil, .unreadable), (nil, .left),
            (.loading?, .asked), (.loading?, .made), (.loading?, .left),
            (.loaded?, .asked), (.loaded?, .read), (.loaded?, .unreadable), (.loaded?, .made):
            slot
        }
    }
}

extension SessionSlot: Sendable where Loading: Sendable, Runner: Sendable {}
