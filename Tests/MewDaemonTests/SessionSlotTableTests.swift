import MewTestSupport
import Testing

@testable import MewDaemon

/// What is in memory of a session, every state met by every event. Whoever changes a transition sees the line change.
@Suite("A session's slot, the whole table")
struct SessionSlotTableTests {
    private final class Runner {
        let name: String
        init(_ name: String) { self.name = name }
    }

    private typealias Slot = SessionSlot<String, Runner>

    @Test("every state against every event: one load, one runner, and only that runner empties the slot")
    func wholeTable() {
        let (first, second) = (Runner("first"), Runner("second"))
        let slots: [Slot?] = [nil, .loading("first load"), .loaded(first)]
        let events: [(String, Slot.Event)] = [
            ("asked", .asked("second load")), ("read", .read(second)), ("unreadable", .unreadable),
            ("made", .made(second)), ("first left", .left(first)), ("second left", .left(second)),
        ]
        let lines = slots.flatMap { slot in
            events.map { name, event in "\(Self.text(slot)), \(name) → \(Self.text(Slot.after(event, in: slot)))" }
        }
        #expect(changes(in: lines, since: slotTable) == [])
    }

    private static func text(_ slot: Slot?) -> String {
        switch slot {
        case nil: "nothing"
        case .loading(let load): "\(load) under way"
        case .loaded(let runner): "\(runner.name) runner"
        }
    }
}

private let slotTable = """
    nothing, asked → second load under way
    nothing, read → nothing
    nothing, unreadable → nothing
    nothing, made → second runner
    nothing, first left → nothing
    nothing, second left → nothing
    first load under way, asked → first load under way
    first load under way, read → second runner
    first load under way, unreadable → nothing
    first load under way, made → first load under way
    first load under way, first left → first load under way
    first load under way, second left → first load under way
    first runner, asked → first runner
    first runner, read → first runner
    first runner, unreadable → first runner
    first runner, made → first runner
    first runner, first left → nothing
    first runner, second left → first runner
    """
