internal import MewBase
internal import MewSim

/// One thing that the networks do, or the people who talk.
package enum Mishap: Hashable, Sendable, CustomStringConvertible {
    /// Nothing passes directly, in one direction or both.
    case cut(toFar: Bool, toNear: Bool)
    /// Larger packets do not pass directly.
    case narrow(Int)
    /// Everything passes directly again.
    case heal
    case fail(relay: Int, SimRelay.Failing)
    case recover(relay: Int)
    case move(SimStage.Side)
    /// Its box has forgotten all mappings.
    case forget(SimStage.Side)
    case sleep(SimStage.Side, Duration)
    case stop(SimStage.Side, Duration)
    case say(Talk)

    package var description: String {
        switch self {
        case .cut(let toFar, let toNear): ".cut(toFar: \(toFar), toNear: \(toNear))"
        case .narrow(let bytes): ".narrow(\(bytes))"
        case .heal: ".heal"
        case .fail(let relay, let how): ".fail(relay: \(relay), .\(how))"
        case .recover(let relay): ".recover(relay: \(relay))"
        case .move(let side): ".move(.\(side))"
        case .forget(let side): ".forget(.\(side))"
        case .sleep(let side, let time): ".sleep(.\(side), .milliseconds(\(Int(time.milliseconds))))"
        case .stop(let side, let time): ".stop(.\(side), .milliseconds(\(Int(time.milliseconds))))"
        case .say(let talk):
            ".say(Talk(near: \(Self.text(talk.near)), far: \(Self.text(talk.far)), bytes: \(talk.bytes)))"
        }
    }

    private static func text(_ pause: Duration?) -> String {
        pause.map { ".milliseconds(\(Int($0.milliseconds)))" } ?? "nil"
    }

    /// Whether it changes what a node can know about the network.
    package var isEvent: Bool { if case .say = self { false } else { true } }

    /// How long until the node is there again that it takes away.
    package var absence: Duration {
        switch self {
        case .sleep(_, let time), .stop(_, let time): time
        case .cut, .narrow, .heal, .fail, .recover, .move, .forget, .say: .zero
        }
    }
}

/// What happens to one stage, and when.
package struct Script: TimedScript, Sendable, CustomStringConvertible {
    package struct Entry: TimedEntry, Hashable, Sendable, CustomStringConvertible {
        /// Since the one before, or since the link was there.
        package var after: Duration
        package var mishap: Mishap

        package init(after: Duration, _ mishap: Mishap) {
            (self.after, self.mishap) = (after, mishap)
        }

        package var description: String { "(\(Int(after.milliseconds)) ms, \(mishap))" }
    }

    package var plan: SimStage.Plan
    package var entries: [Entry]

    package init(_ plan: SimStage.Plan, _ entries: [Entry]) {
        (self.plan, self.entries) = (plan, entries)
    }

    package var description: String {
        let boxes = [plan.nearBox == nil ? nil : "near behind a NAT", plan.farBox == nil ? nil : "far behind a NAT"]
        let stage = (["\(plan.relays) relays", plan.knowsAddress ? "address known" : nil] + boxes).compactMap { $0 }
        return "[\(stage.joined(separator: ", "))] " + entries.map(\.description).joined(separator: " ")
    }

    /// Whether at every time some way works that the nodes can have found.
    package var alwaysHasRoute: Bool {
        var routes = RouteOracle(plan)
        return entries.allSatisfy { routes.apply($0) }
    }
}

/// Knows which ways between the two nodes work. A value.
struct RouteOracle {
    private let plan: SimStage.Plan
    private var clock = Duration.zero
    private var isDirectWhole = true
    /// Since when the dialler has known where the listener is.
    private var directSince: Duration?
    /// Since when each relay has worked; nil while it does not.
    private var relaysSince: [Duration?]

    /// The longest wait of a leg's back-off, with what belongs to it (spec/iroh-wire.md §4.5), and some.
    private static let legTime: Duration = .seconds(30)

    init(_ plan: SimStage.Plan) {
        self.plan = plan
        directSince = plan.mayBeDirect ? .zero - Self.legTime : nil
        relaysSince = Array(repeating: .zero - Self.legTime, count: plan.relays)
    }

    /// The relays that are there, by number.
    var workingRelays: [Int] { relaysSince.indices.filter { relaysSince[$0] != nil } }
    var failedRelays: [Int] { relaysSince.indices.filter { relaysSince[$0] == nil } }
    var isDirectCut: Bool { !isDirectWhole }

    var hasRoute: Bool {
        let direct = isDirectWhole ? directSince : nil
        return (relaysSince + [direct]).contains { since in since.map { clock - $0 >= Self.legTime } ?? false }
    }

    /// - Returns: whether there is a way after it.
    mutating func apply(_ entry: Script.Entry) -> Bool {
        clock += entry.after
        switch entry.mishap {
        case .cut, .narrow: isDirectWhole = false
        case .heal: isDirectWhole = true
        case .fail(let relay, _): relaysSince[relay] = nil
        case .recover(let relay): if relaysSince[relay] == nil { relaysSince[relay] = clock }
        // Where it is now the dialler must be told, which takes a relay.
        case .move(.far): directSince = nil
        // It takes its time until the other end has noticed.
        case .move(.near): if directSince != nil { directSince = clock }
        case .forget, .sleep, .stop, .say: break
        }
        let hasRoute = hasRoute
        clock += entry.mishap.absence
        return hasRoute
    }
}
