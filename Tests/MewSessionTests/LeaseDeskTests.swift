import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

// The desk's table: every state against every input, what is told, and who holds the lease afterwards and until when. A changed
// line is a changed transition: look at it, then change the table.

@Suite("who may type in a session")
struct LeaseDeskTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let laptop = By(node: CoreBench.node(1), name: "laptop", clientKind: .cli)
    private static let phone = By(node: CoreBench.node(2), name: "phone", clientKind: .mobile)

    private enum State: String, CaseIterable { case free, present, away }

    /// Held by the laptop.
    private static func desk(in state: State) -> LeaseDesk {
        var desk = LeaseDesk()
        switch state {
        case .free: break
        case .present: _ = desk.take(laptop, isPresent: true, takesOver: false, now: start)
        case .away: _ = desk.take(laptop, isPresent: false, takesOver: false, now: start)
        }
        return desk
    }

    private static let inputs: [(name: String, apply: @Sendable (inout LeaseDesk) -> String)] = [
        ("laptop takes", { word($0.take(laptop, isPresent: true, takesOver: false, now: start)) }),
        ("phone takes", { word($0.take(phone, isPresent: true, takesOver: false, now: start)) }),
        ("laptop takes over", { word($0.take(laptop, isPresent: true, takesOver: true, now: start)) }),
        ("phone takes over", { word($0.take(phone, isPresent: true, takesOver: true, now: start)) }),
        ("phone takes over from afar", { word($0.take(phone, isPresent: false, takesOver: true, now: start)) }),
        ("laptop releases", { word($0.release(laptop.node)) }),
        ("phone releases", { word($0.release(phone.node)) }),
        ("laptop arrives", { desk in told { desk.arrived(laptop.node) } }),
        ("phone arrives", { desk in told { desk.arrived(phone.node) } }),
        ("laptop leaves", { desk in told { desk.left(laptop.node, now: start) } }),
        ("phone leaves", { desk in told { desk.left(phone.node, now: start) } }),
        ("29.999 s", { $0.expire(now: start.advanced(by: .milliseconds(29_999))) ? "expired" : "–" }),
        ("30 s", { $0.expire(now: start.advanced(by: .seconds(30))) ? "expired" : "–" }),
    ]

    private static func told(_ body: () -> Void) -> String {
        body()
        return "–"
    }

    private static func word(_ verdict: LeaseDesk.Verdict) -> String {
        switch verdict {
        case .changed: "changed"
        case .unchanged: "unchanged"
        case .refused(let holder): "refused:\(holder.name)"
        }
    }

    private static func line(_ state: State, _ name: String, _ apply: (inout LeaseDesk) -> String) -> String {
        var desk = desk(in: state)
        let told = apply(&desk)
        let until = desk.nextDeadline.map { " for \(start.duration(to: $0).components.seconds) s" } ?? ""
        let mayType = [laptop, phone].filter { desk.refuses($0.node) == nil }.map(\.name).joined(separator: " ")
        return "\(state.rawValue), \(name): \(told) → \(desk.holder?.name ?? "nobody")\(until); types: \(mayType)"
    }

    @Test("every state against every input")
    func table() {
        let lines = State.allCases.flatMap { state in Self.inputs.map { Self.line(state, $0.name, $0.apply) } }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        free, laptop takes: changed → laptop; types: laptop
        free, phone takes: changed → phone; types: phone
        free, laptop takes over: changed → laptop; types: laptop
        free, phone takes over: changed → phone; types: phone
        free, phone takes over from afar: changed → phone for 30 s; types: phone
        free, laptop releases: unchanged → nobody; types: laptop phone
        free, phone releases: unchanged → nobody; types: laptop phone
        free, laptop arrives: – → nobody; types: laptop phone
        free, phone arrives: – → nobody; types: laptop phone
        free, laptop leaves: – → nobody; types: laptop phone
        free, phone leaves: – → nobody; types: laptop phone
        free, 29.999 s: – → nobody; types: laptop phone
        free, 30 s: – → nobody; types: laptop phone
        present, laptop takes: unchanged → laptop; types: laptop
        present, phone takes: refused:laptop → laptop; types: laptop
        present, laptop takes over: unchanged → laptop; types: laptop
        present, phone takes over: changed → phone; types: phone
        present, phone takes over from afar: changed → phone for 30 s; types: phone
        present, laptop releases: changed → nobody; types: laptop phone
        present, phone releases: refused:laptop → laptop; types: laptop
        present, laptop arrives: – → laptop; types: laptop
        present, phone arrives: – → laptop; types: laptop
        present, laptop leaves: – → laptop for 30 s; types: laptop
        present, phone leaves: – → laptop; types: laptop
        present, 29.999 s: – → laptop; types: laptop
        present, 30 s: – → laptop; types: laptop
        away, laptop takes: unchanged → laptop for 30 s; types: laptop
        away, phone takes: refused:laptop → laptop for 30 s; types: laptop
        away, laptop takes over: unchanged → laptop for 30 s; types: laptop
        away, phone takes over: changed → phone; types: phone
        away, phone takes over from afar: changed → phone for 30 s; types: phone
        away, laptop releases: changed → nobody; types: laptop phone
        away, phone releases: refused:laptop → laptop for 30 s; types: laptop
        away, laptop arrives: – → laptop; types: laptop
        away, phone arrives: – → laptop for 30 s; types: laptop
        away, laptop leaves: – → laptop for 30 s; types: laptop
        away, phone leaves: – → laptop for 30 s; types: laptop
        away, 29.999 s: – → laptop for 30 s; types: laptop
        away, 30 s: expired → nobody; types: laptop phone
        """
}

@Suite("leases of a session")
struct LeaseTests {
    private let offered: Set<String> = [SessionCore.leaseCapability]

    private func lease(_ act: LeaseAct, kind: LeaseKind = .input) -> ClientMessage {
        .lease(.init(kind: kind, target: CoreBench.session.text, act: act))
    }

    private func holders(_ frames: [DaemonFrame]) -> [String?] {
        frames.compactMap { frame -> String?? in
            if case .leaseState(let state) = frame.message { .some(state.holder?.name) } else { nil }
        }
    }

    /// A bench with a laptop and a phone that know leases, a browser that does not, and the laptop in possession.
    private func held() -> (CoreBench, laptop: ClientID, phone: ClientID, web: ClientID) {
        var bench = CoreBench()
        let laptop = bench.attach(device: 1, name: "laptop", isNew: true, capabilities: offered)
        let phone = bench.attach(device: 2, name: "phone", capabilities: offered)
        let web = bench.attach(.stock, kind: .web, device: 3, name: "browser")
        bench.send(lease(.takeIfFree), from: laptop)
        _ = bench.takeReceipts()
        return (bench, laptop, phone, web)
    }

    @Test("all who know leases hear who holds it; newcomers after they are caught up; stock clients never")
    func told() {
        var (bench, laptop, phone, web) = held()
        #expect(holders(bench.takeFrames(laptop)) == [nil, "laptop"])
        #expect(holders(bench.takeFrames(phone)) == [nil, "laptop"])
        #expect(holders(bench.takeFrames(web)).isEmpty)
        let late = bench.takeFrames(bench.attach(device: 4, capabilities: offered))
        #expect(holders(late) == ["laptop"])
        #expect(late.last?.message.kind == .leaseState)
        #expect(!bench.take(bench.attach(device: 5)).contains(.leaseState))
    }

    @Test("words and commands of others are refused; their answers, cancels, modes and pages are not")
    func refused() throws {
        var (bench, laptop, phone, web) = held()
        _ = bench.takeFrames(web)
        for message in [
            ClientMessage.prompt(.init(text: "x")), .guide(.init(text: "x")), .slashCommand(.init(command: "/clear")),
        ] {
            bench.send(message, from: phone)
            bench.send(message, from: web)
        }
        let receipts = bench.takeReceipts()
        #expect(receipts.map(\.code) == [.leaseHeld, .leaseHeld, .leaseHeld])
        #expect(receipts.map(\.message) == ["laptop is typing", "laptop is typing", "laptop is typing"])
        let errors = bench.takeFrames(web).compactMap { frame -> String? in
            if case .error(let error) = frame.message { error.message } else { nil }
        }
        #expect(errors == ["laptop is typing", "laptop is typing", "laptop is typing"])
        #expect(bench.startedTurns.isEmpty && bench.commands.isEmpty)
        bench.send(.prompt(.init(text: "mine")), from: laptop)
        bench.call(.permission(.init(toolName: "t", input: [:], call: "c", sensitivity: .dangerous)))
        bench.answer(try #require(bench.request(at: phone)), .permission(.allowOnce), from: phone)
        bench.send(.setPermissionMode(.init(mode: "permissive")), from: phone)
        bench.send(.cancel(.init()), from: phone)
        #expect(bench.takeReceipts().suffix(3).map(\.state) == [.done, .done, .done])
        #expect(bench.cancelledTurns.count == 1)
    }

    @Test("it ends by release, by take-over, by the holder's yield and with the holder's revocation")
    func ends() {
        for end in 0..<4 {
            var (bench, laptop, phone, _) = held()
            _ = bench.takeFrames(phone)
            switch end {
            case 0: bench.send(lease(.release), from: laptop)
            case 1: bench.send(lease(.takeOver), from: phone)
            case 2: bench.send(.yieldControl, from: laptop)
            default: bench.handle(.revoked(CoreBench.node(1)))
            }
            #expect(holders(bench.takeFrames(phone)) == [end == 1 ? "phone" : nil])
            bench.send(.prompt(.init(text: "x")), from: phone)
            #expect(bench.startedTurns.count == 1)
        }
    }

    @Test("a list says who holds it, natively")
    func listed() throws {
        var (bench, laptop, _, _) = held()
        #expect(bench.core.info.leaseHolder?.name == "laptop")
        var unnamed = bench.core.info
        unnamed.leaseHolder = nil
        #expect(bench.core.info.encoded(for: .stock) == unnamed.encoded(for: .stock))
        bench.send(lease(.release), from: laptop)
        #expect(bench.core.info.leaseHolder == nil)
    }

    @Test("what is not to be had is refused: a lease of others, its release, the size of a terminal")
    func refusals() {
        var (bench, _, phone, _) = held()
        bench.send(lease(.takeIfFree), from: phone)
        bench.send(lease(.release), from: phone)
        bench.send(lease(.takeOver, kind: .size), from: phone)
        #expect(bench.takeReceipts().map(\.code) == [.leaseHeld, .leaseHeld, .unknownType])
    }

    @Test("30 s after the holder's last channel it is free, not before; whoever returns meanwhile keeps it")
    func away() {
        var (bench, laptop, phone, _) = held()
        let second = bench.attach(device: 1, name: "laptop", capabilities: offered)
        bench.detach(laptop)
        #expect(bench.core.nextDeadline == nil)
        bench.detach(second)
        let left = bench.now
        #expect(bench.core.nextDeadline == left.advanced(by: .seconds(30)))
        bench.now = left.advanced(by: .milliseconds(29_999))
        bench.handle(.deadline)
        bench.send(.prompt(.init(text: "x")), from: phone)
        #expect(bench.takeReceipts().map(\.code) == [.leaseHeld])
        let third = bench.attach(device: 1, name: "laptop")
        bench.now = left.advanced(by: .seconds(60))
        bench.handle(.deadline)
        bench.send(.prompt(.init(text: "x")), from: phone)
        #expect(bench.takeReceipts().map(\.code) == [.leaseHeld])
        _ = bench.takeFrames(phone)
        bench.detach(third)
        bench.now = left.advanced(by: .seconds(90))
        bench.handle(.deadline)
        #expect(holders(bench.takeFrames(phone)) == [nil])
        bench.send(.prompt(.init(text: "x")), from: phone)
        #expect(bench.startedTurns.count == 1)
    }

    @Test("a restart frees it, and a reconnect never takes it over")
    func restart() {
        var (bench, _, _, _) = held()
        bench.crash()
        let phone = bench.attach(device: 2, name: "phone", capabilities: offered)
        #expect(holders(bench.takeFrames(phone)) == [nil])
        bench.send(lease(.takeIfFree), from: phone)
        let laptop = bench.attach(device: 1, name: "laptop", capabilities: offered)
        #expect(holders(bench.takeFrames(laptop)) == ["phone"])
    }
}
