package import MewBase
internal import MewSession
package import MewWire

/// What one connection has to do before it may speak (spec/native-wire.md §1, spec/mew-wire.md §2.6).
///
///     accepted ─┬─ stranger, no window ──────────────────────────────► closed 1
///               ├─ revoked, no window ───────────────────────────────► closed 2 (stock 1)
///               └─ greeting ─┬─ hello of a known device ─────────────► ready
///                            ├─ native hello, asks for nothing ──────► closed 1, revoked devices 2
///                            ├─ anything from a known stock device ──► ready
///                            ├─ hello, or an old phone's first words ─► judged ─┬─ admitted ► ready
///                            │                                                  └─ refused ─► closed 3 (stock 1)
///                            ├─ anything else ───────────────────────► closed 4 (stock strangers 1)
///                            └─ 10 s ────────────────────────────────► closed 1, known devices 4
///
/// Pure value; the connection performs the actions in order.
package struct Admission: Sendable {
    /// DESIGN §5: 10 s to authenticate. Ends at a well-formed hello; a knock then waits as long as the window is open.
    package static let timeLimit: Duration = .seconds(10)
    /// What every native hello must offer (spec/native-wire.md §2).
    package static let mandatoryCapabilities = ["ops", "resume", "desk"]
    /// What this daemon does besides, for those who know it.
    package static let optionalCapabilities = ["agents", SessionCore.leaseCapability]
    /// Session channels a paired native peer may open before `remote_ready`.
    package static let waitingChannels = 16

    /// What the key was when the connection arrived.
    package enum Standing: Equatable, Sendable {
        /// `mayEnter` while a pairing window is open.
        case stranger(mayEnter: Bool)
        case revoked(mayEnter: Bool, reason: String)
        case known
    }

    /// The first message, as far as admission cares.
    package enum Greeting: Sendable {
        case hello(Hello)
        /// A message of any other type.
        case otherMessage
        case undecodable
    }

    /// What a `remote_hello` says of a peer.
    package struct Hello: Sendable {
        /// Cleaned.
        package let name: String
        package let code: PairingDigest?
        /// True when the window would take the code: a known device that pairs again gets the scope of the window.
        package let codeIsLive: Bool
        package let capabilities: [String]
        /// A person at the device wants it to be let in.
        package let asksToPair: Bool

        package init(
            name: String, code: PairingDigest?, codeIsLive: Bool, capabilities: [String], asksToPair: Bool
        ) {
            self.name = name
            self.code = code
            self.codeIsLive = codeIsLive
            self.capabilities = capabilities
            self.asksToPair = asksToPair
        }

        /// By its word or by the code that it brings.
        fileprivate var wantsIn: Bool { asksToPair || code != nil }
    }

    /// What happens to a connection that is not in yet.
    package enum Event: Sendable {
        case greeted(Greeting)
        /// The peer ended its first channel without a word.
        case ended
        /// A further channel arrived.
        case channel
        case held(expiresIn: Duration)
        case admitted
        case refused(PairingWindow.Refusal)
    }

    /// What the connection has to do.
    package enum Action: Equatable, Sendable {
        /// Hand the hello to the pairing window; an old phone has no name and no code.
        case judge
        /// Answer `remote_ready` if a hello asks for it, lift the limits on strangers, open the gate to the other channels.
        case welcome(answerHello: Bool)
        /// The first message was an ordinary one: handle it now.
        case handleFirstMessage
        /// Native peers are told that a person must confirm (`pair_pending`).
        case tellPending(Duration)
        /// An `error` frame on the first channel.
        case sendError(String, ErrorCode)
        case close(CloseCode, String)
    }

    private enum State: Equatable {
        case greeting
        case judged(firstMessageWaits: Bool)
        case ready
        case closed
    }

    private let applicationProtocol: ApplicationProtocol
    private let standing: Standing
    private var state: State = .greeting
    private var deadline: Instant?
    private var channels = 0

    package init(_ applicationProtocol: ApplicationProtocol, standing: Standing, acceptedAt now: Instant) {
        self.applicationProtocol = applicationProtocol
        self.standing = standing
        deadline = now.advanced(by: Self.timeLimit)
    }

    /// True once the peer may do what its scope allows.
    package var isReady: Bool { state == .ready }

    /// True for a key that may enter only through the pairing window.
    package var isStranger: Bool {
        switch standing {
        case .known: false
        case .stranger, .revoked: true
        }
    }

    package var nextDeadline: Instant? { deadline }

    /// The first decision, before any stream is read.
    package mutating func begin() -> [Action] {
        switch standing {
        case .known, .stranger(mayEnter: true), .revoked(mayEnter: true, _): []
        case .stranger(mayEnter: false): close(.unauthorized, Self.unauthorized)
        case .revoked(mayEnter: false, let reason): close(isNative ? .revoked : .unauthorized, reason)
        }
    }

    package mutating func deadlinePassed(now: Instant) -> [Action] {
        guard let deadline, now >= deadline, state == .greeting else { return [] }
        switch standing {
        case .known: return close(.protocolViolation, "nothing was said within 10 s")
        case .stranger, .revoked: return close(.unauthorized, Self.unauthorized)
        }
    }

    package mutating func receive(_ event: Event) -> [Action] {
        switch (state, event) {
        case (.greeting, .greeted(let greeting)): return greeted(greeting)
        case (.greeting, .ended): return close(.done, "nothing was said")
        case (.greeting, .channel), (.judged, .channel): return channelArrived()
        case (.judged, .held(let remaining)): return isNative ? [.tellPending(remaining)] : []
        case (.judged(let waits), .admitted): return welcome(answerHello: !waits, thenHandle: waits)
        case (.judged(let waits), .refused(let refusal)): return refused(refusal, saidHello: !waits)
        case (.judged, .ended): return close(.done, "the peer left")
        case (.judged, .greeted): return close(.protocolViolation, "one hello is enough")
        case (.greeting, .held), (.greeting, .admitted), (.greeting, .refused): return []
        case (.ready, _), (.closed, _): return []
        }
    }

    // MARK: The first message

    private mutating func greeted(_ greeting: Greeting) -> [Action] {
        switch (standing, greeting) {
        case (_, .hello(let hello)): return said(hello)
        case (.known, .otherMessage) where !isNative, (.known, .undecodable) where !isNative:
            return welcome(answerHello: false, thenHandle: true)
        case (.stranger, .otherMessage) where !isNative, (.revoked, .otherMessage) where !isNative:
            return judge(firstMessageWaits: true)
        case (_, .otherMessage) where isNative, (_, .undecodable) where isNative:
            return close(.protocolViolation, "the first message must be remote_hello")
        case (_, .otherMessage), (_, .undecodable):
            return close(.unauthorized, Self.unauthorized)
        }
    }

    private mutating func said(_ hello: Hello) -> [Action] {
        let missing = Self.mandatoryCapabilities.filter { !hello.capabilities.contains($0) }
        guard !isNative || missing.isEmpty else {
            return close(.protocolViolation, "the hello lacks the capabilities \(missing.joined(separator: ", "))")
        }
        switch standing {
        // D1: a stock phone repeats its spent token for ever; the list of devices decides, not the token.
        case .known where !hello.codeIsLive: return welcome(answerHello: true, thenHandle: false)
        // It only wants to talk: nobody is to be asked about it. Stock phones have no other way to knock than to come.
        case .stranger where isNative && !hello.wantsIn: return close(.unauthorized, Self.unauthorized)
        case .revoked(_, let reason) where isNative && !hello.wantsIn: return close(.revoked, reason)
        case .known, .stranger, .revoked: return judge(firstMessageWaits: false)
        }
    }

    private mutating func judge(firstMessageWaits: Bool) -> [Action] {
        state = .judged(firstMessageWaits: firstMessageWaits)
        deadline = nil
        return [.judge]
    }

    private mutating func welcome(answerHello: Bool, thenHandle: Bool) -> [Action] {
        state = .ready
        deadline = nil
        return [.welcome(answerHello: answerHello)] + (thenHandle ? [.handleFirstMessage] : [])
    }

    // MARK: Refusals

    private mutating func refused(_ refusal: PairingWindow.Refusal, saidHello: Bool) -> [Action] {
        // A device that is in already only failed to pair again.
        if case .known = standing { return welcome(answerHello: saidHello, thenHandle: !saidHello) }
        // The exact words of the stock daemon, which its phones show.
        let sentence = isNative ? refusal.sentence : "remote pairing credentials were rejected"
        // An old phone asked for nothing; an error would only be a pointless alert on its screen.
        return (saidHello ? [.sendError(sentence, refusal.code)] : [])
            + close(isNative ? .pairingRefused : .unauthorized, isNative ? sentence : Self.unauthorized)
    }

    private mutating func channelArrived() -> [Action] {
        channels += 1
        switch standing {
        case .known where isNative:
            return channels <= Self.waitingChannels
                ? [] : close(.protocolViolation, "more than \(Self.waitingChannels) channels before remote_ready")
        case .known, .stranger, .revoked:
            return close(.protocolViolation, "one channel until the peer is known")
        }
    }

    private mutating func close(_ code: CloseCode, _ reason: String) -> [Action] {
        state = .closed
        deadline = nil
        return [.close(code, reason)]
    }

    private var isNative: Bool { applicationProtocol == .native }

    /// The reason text of the stock daemon (spec/mew-wire.md §1.6).
    private static let unauthorized = "unauthorized"
}

extension PairingWindow.Refusal {
    /// For the device that was refused (spec/native-wire.md §4).
    package var code: ErrorCode {
        switch self {
        case .windowClosed: .windowClosed
        case .notSaved: .notSaved
        case .tooManyKnocks: .busy
        case .wrongCode, .shutOut, .codeUsed, .notExpected, .nobodyToConfirm, .refusedByOperator, .replaced:
            .unauthorized
        }
    }

    /// For the device that was refused: what happened and one thing to do.
    package var sentence: String {
        switch self {
        case .wrongCode: "this pairing code is not valid; run mew pair again and use the new one"
        case .shutOut: "too many wrong pairing codes from this device; run mew pair again"
        case .codeUsed: "this pairing code was already used by another device; run mew pair again"
        case .notExpected: "the daemon waits for another device"
        case .nobodyToConfirm: "nobody can confirm this device at the daemon; use the pairing code"
        case .tooManyKnocks: "too many devices are knocking; use the pairing code"
        case .refusedByOperator: "the person at the daemon refused this device"
        case .replaced: "another connection of this device took its place"
        case .notSaved: "the daemon could not save this device; free some disk space there and try again"
        case .windowClosed: "the pairing window is closed; run mew pair again"
        }
    }
}
