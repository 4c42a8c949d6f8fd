package import MewBase
import MewIdentity
import MewWire

/// The time in which one new device may enter (DESIGN §11).
///
///                          right code, confirmation,
///                          or the expected key                 stored
///              ┌─ waiting ───────────────────────────► claimed ───────► paired
///              │   │  ▲                                   │
///              │   │  └────────── not stored, in time ────┤
///     deadline │   │ cancel                               │ not stored, too late
///              ▼   ▼                                      ▼
///         expired cancelled                           expired (or cancelled)
///
/// Pure value: no clock, no randomness. Feed it with `receive(_:now:)` and `deadlinePassed(now:)`, perform every action in
/// order and arm one timer for `nextDeadline`. It lets in one device, by proof and never by arrival: the code, a person who
/// compared digits, or the key the operator named. A claim that is being stored outlives the deadline: the device came in
/// time. After `paired` it stays for whoever brings the used code, so that the screen can say so.
package struct PairingWindow: Sendable {
    /// Long enough to walk to the other device, short enough that a photographed code is soon worthless.
    package static let standardDuration: Duration = .seconds(120)

    private enum State {
        case waiting
        case claimed(Claim)
        case paired(NodeID)
        case expired
        case cancelled
    }

    private struct Claim {
        var grant: Grant
        /// The operator closed the window while the device was being written down.
        var isCancelled = false
    }

    private struct DelayedRefusal {
        let due: Instant
        let connection: ConnectionNumber
    }

    /// Refusals that wait for their time: as many as strangers may be connected (DESIGN §5). One more is told at once.
    private static let delayedCapacity = 32

    private let settings: Settings
    /// The last instant at which the window is open.
    private let lastInstant: Instant
    private var state: State = .waiting
    private var knocks = KnockList()
    private var guesses = GuessLimits()
    private var delayed: [DelayedRefusal] = []
    /// When the screen may next hear of a knock that was turned away. Keys cost nothing, so these lines are paced.
    private var nextTurnedAwayLine = Instant.zero

    package init(_ settings: Settings, openedAt now: Instant, duration: Duration = Self.standardDuration) {
        self.settings = settings
        lastInstant = now.advanced(by: duration)
    }

    /// Whether an unknown key may open a stream and say hello.
    package func isOpen(now: Instant) -> Bool {
        switch state {
        case .waiting, .claimed: now <= lastInstant
        case .paired, .expired, .cancelled: false
        }
    }

    /// Whether `code` would be taken: asked for a device that is paired already and brings a code again.
    package func accepts(_ code: PairingDigest, now: Instant) -> Bool {
        isOpen(now: now) && settings.code.matches(code)
    }

    /// What is left of the window.
    package func remaining(now: Instant) -> Duration {
        isOpen(now: now) ? now.duration(to: lastInstant) : .zero
    }

    /// True from `Action.store` until `.stored`.
    package var isStoring: Bool {
        if case .claimed = state { true } else { false }
    }

    /// The code that a device spends by entering; nil when it entered without one.
    package func code(spentBy grant: Grant) -> PairingDigest? {
        grant.proof == .code ? settings.code : nil
    }

    /// For the status line and the tests' table.
    package var stateName: String {
        switch state {
        case .waiting: "waiting"
        case .claimed(let claim): claim.isCancelled ? "claimed, closing" : "claimed"
        case .paired: "paired"
        case .expired: "expired"
        case .cancelled: "cancelled"
        }
    }

    /// When to call `deadlinePassed`.
    package var nextDeadline: Instant? {
        let expiry: Instant? =
            switch state {
            case .waiting: lastInstant.advanced(by: .nanoseconds(1))
            case .claimed, .paired, .expired, .cancelled: nil
            }
        return [expiry, knocks.nextDeadline, delayed.map(\.due).min()].compactMap { $0 }.min()
    }

    package mutating func deadlinePassed(now: Instant) -> [Action] {
        let due = delayed.filter { $0.due <= now }
        delayed.removeAll { $0.due <= now }
        var actions = due.map { Action.refuse($0.connection, .wrongCode) }
        if case .waiting = state, now > lastInstant {
            state = .expired
            return actions + [.show(.expired)] + dismissKnocks()
        }
        if let knock = knocks.show(now: now) { actions.append(.show(.knock(knock))) }
        return actions
    }

    package mutating func receive(_ event: Event, now: Instant) -> [Action] {
        // A late timer must not keep the window open.
        let expiry = deadlinePassed(now: now)
        switch event {
        case .hello(let hello): return expiry + receive(hello, now: now)
        case .confirm(let number): return expiry + confirm(number)
        case .refuse(let number): return expiry + refuse(number)
        case .stored(let succeeded): return expiry + stored(succeeded, now: now)
        case .left(let connection): return expiry + left(connection)
        case .cancel: return expiry + cancel()
        }
    }

    // MARK: Hello

    private mutating func receive(_ hello: Hello, now: Instant) -> [Action] {
        switch state {
        case .waiting:
            guard !guesses.isShutOut(hello.node) else { return [.refuse(hello.connection, .shutOut)] }
            guard let code = hello.code else { return knock(hello, now: now) }
            guard settings.code.matches(code) else { return wrongCode(hello, now: now) }
            guard isExpected(hello.node) else { return turnAway(hello, .notExpected, now: now) }
            return claim(hello.connection, node: hello.node, name: hello.name, proof: .code)
        case .claimed(let claim):
            guard let code = hello.code, !guesses.isShutOut(hello.node) else {
                return [.refuse(hello.connection, .windowClosed)]
            }
            guard settings.code.matches(code) else { return wrongCode(hello, now: now) }
            return claimAgain(hello, claim)
        case .paired(let node):
            guard let code = hello.code, settings.code.matches(code) else {
                return [.refuse(hello.connection, .windowClosed)]
            }
            guard node != hello.node else { return [.admit(hello.connection)] }
            return [.show(.usedAgain(hello.node)), .refuse(hello.connection, .codeUsed)]
        case .expired, .cancelled:
            return [.refuse(hello.connection, .windowClosed)]
        }
    }

    private mutating func knock(_ hello: Hello, now: Instant) -> [Action] {
        guard isExpected(hello.node) else { return turnAway(hello, .notExpected, now: now) }
        guard settings.expected == nil else {
            return claim(hello.connection, node: hello.node, name: hello.name, proof: .expected)
        }
        guard settings.canConfirm else { return turnAway(hello, .nobodyToConfirm, now: now) }
        let arrival = knocks.add(
            node: hello.node, name: hello.name, digits: hello.digits, connection: hello.connection,
            source: hello.source)
        let hold = Action.hold(hello.connection, expiresIn: remaining(now: now))
        let shown = knocks.show(now: now).map { Action.show(.knock($0)) }
        switch arrival {
        case .waiting: return [hold] + [shown].compactMap { $0 }
        case .replaced(let former): return [.refuse(former, .replaced), hold] + [shown].compactMap { $0 }
        case .full: return turnAway(hello, .tooManyKnocks, now: now)
        }
    }

    private func isExpected(_ node: NodeID) -> Bool {
        settings.expected == nil || settings.expected == node
    }

    /// Refused for what it is and not for what it guessed: nothing is counted.
    private mutating func turnAway(_ hello: Hello, _ refusal: Refusal, now: Instant) -> [Action] {
        let answer = Action.refuse(hello.connection, refusal)
        guard now >= nextTurnedAwayLine else { return [answer] }
        nextTurnedAwayLine = now.advanced(by: KnockList.pace)
        return [.show(.knockRefused(hello.node, refusal)), answer]
    }

    private mutating func wrongCode(_ hello: Hello, now: Instant) -> [Action] {
        let verdict = guesses.wrongCode(by: hello.node, from: hello.source, now: now)
        var actions: [Action] = []
        if verdict.refusalDue == now { actions.append(.show(.wrongCode(hello.node, tries: verdict.tries))) }
        if verdict.slows { actions.append(.show(.slowed(hello.source))) }
        if verdict.shutsOut { actions.append(.show(.shutOut(hello.node))) }
        guard verdict.refusalDue > now, delayed.count < Self.delayedCapacity else {
            return actions + [.refuse(hello.connection, .wrongCode)]
        }
        delayed.append(DelayedRefusal(due: verdict.refusalDue, connection: hello.connection))
        return actions
    }

    // MARK: Claim

    private mutating func claim(
        _ connection: ConnectionNumber, node: NodeID, name: String?, proof: Proof
    ) -> [Action] {
        let grant = Grant(connection: connection, node: node, name: name, scope: settings.scope, proof: proof)
        state = .claimed(Claim(grant: grant))
        return [.store(grant)]
    }

    /// The right code while it is being written down for somebody: the same key has reconnected, or it is someone else's.
    private mutating func claimAgain(_ hello: Hello, _ claim: Claim) -> [Action] {
        guard claim.grant.node == hello.node else {
            return [.show(.usedAgain(hello.node)), .refuse(hello.connection, .codeUsed)]
        }
        var renewed = claim
        renewed.grant = Grant(
            connection: hello.connection, node: hello.node, name: hello.name, scope: claim.grant.scope,
            proof: claim.grant.proof)
        state = .claimed(renewed)
        return [.refuse(claim.grant.connection, .replaced)]
    }

    private mutating func stored(_ succeeded: Bool, now: Instant) -> [Action] {
        switch state {
        case .claimed(let claim) where succeeded:
            state = .paired(claim.grant.node)
            return [.admit(claim.grant.connection), .show(.paired(claim.grant))] + dismissKnocks()
        case .claimed(let claim):
            let answer: [Action] = [
                .refuse(claim.grant.connection, .notSaved), .show(.notSaved(claim.grant.node)),
            ]
            return answer + reopen(after: claim, now: now)
        case .waiting, .paired, .expired, .cancelled:
            preconditionFailure("only a claim is stored")
        }
    }

    private mutating func reopen(after claim: Claim, now: Instant) -> [Action] {
        guard !claim.isCancelled else {
            state = .cancelled
            return [.show(.closed)] + dismissKnocks()
        }
        guard now <= lastInstant else {
            state = .expired
            return [.show(.expired)] + dismissKnocks()
        }
        state = .waiting
        return []
    }

    // MARK: The operator

    private mutating func confirm(_ number: KnockNumber) -> [Action] {
        switch state {
        case .waiting:
            guard let knock = knocks.take(number) else { return [.show(.noSuchKnock(number))] }
            return claim(knock.connection, node: knock.node, name: knock.name, proof: .confirmed)
        case .claimed, .paired, .expired, .cancelled:
            return [.show(.noSuchKnock(number))]
        }
    }

    private mutating func refuse(_ number: KnockNumber) -> [Action] {
        guard let knock = knocks.take(number) else { return [.show(.noSuchKnock(number))] }
        return [.refuse(knock.connection, .refusedByOperator)]
    }

    private mutating func left(_ connection: ConnectionNumber) -> [Action] {
        delayed.removeAll { $0.connection == connection }
        guard let (knock, wasShown) = knocks.remove(connection), wasShown else { return [] }
        return [.show(.knockLeft(knock.number))]
    }

    private mutating func cancel() -> [Action] {
        switch state {
        case .waiting:
            state = .cancelled
            return [.show(.closed)] + dismissKnocks()
        case .claimed(var claim):
            claim.isCancelled = true
            state = .claimed(claim)
            return []
        case .paired, .expired, .cancelled:
            return []
        }
    }

    private mutating func dismissKnocks() -> [Action] {
        knocks.removeAll().map { .refuse($0.connection, .windowClosed) }
    }
}
