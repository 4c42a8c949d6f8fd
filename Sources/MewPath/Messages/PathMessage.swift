package import MewBase
package import MewWire

/// What the two ends of a connection say to each other beside QUIC, on any way there is (ARCHITECTURE.md, "Path messages").
///
/// Each question is answered once, where it came from, with its transaction; an answer is at most 12 bytes longer than its
/// question.
/// Unknown attributes that need no understanding are skipped, unknown ones that do make the message nothing.
package struct PathMessage: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// Either side: does this way lead to you? The answer says from where it was seen to come, unless through a relay.
        case probe
        case probeAnswer(observed: SocketAddress?)
        /// Listener: where I am now, and whether I hear you.
        case call(Call)
        case callAnswer(observed: SocketAddress?)
        /// Dialler: where I may be, and that I look for you now.
        case offer(Offer)
        case offerAnswer(observed: SocketAddress?)
    }

    package let transaction: TransactionID
    /// Of a question: larger than that of every question before it on this connection from this side. 0 in an answer.
    package let counter: UInt64
    package let content: Content

    package init(transaction: TransactionID, counter: UInt64, content: Content) {
        self.transaction = transaction
        self.counter = counter
        self.content = content
    }
}

/// The side that cannot migrate asks the one that can to look where it is.
package struct Call: Hashable, Sendable {
    /// Addresses at which I can be reached, the likeliest first.
    package var candidates: [SocketAddress]
    /// Relays through which I can be reached, home first.
    package var relays: [RelayURL]
    /// The path on which I heard you last, and hear you no more; nil while I hear you.
    package var unheard: PathMark?
    /// What I have found out about my network; nil when that is nothing.
    package var nat: NATReport?

    /// What is beyond it in a call is ignored: more ways help nobody to connect (DESIGN §6).
    package static let maxCandidates = 16
    package static let maxRelays = 3

    package init(
        candidates: [SocketAddress], relays: [RelayURL], unheard: PathMark? = nil, nat: NATReport? = nil
    ) {
        self.candidates = candidates
        self.relays = relays
        self.unheard = unheard
        self.nat = nat?.withoutAddresses
    }
}

/// The side that can migrate tells where it may be, so that the other asks there while it is asked itself: a firewall lets in
/// what answers to something that went out.
package struct Offer: Hashable, Sendable {
    /// At most `Call.maxCandidates`, the likeliest first; what is beyond is ignored.
    package var candidates: [SocketAddress]
    /// What I have found out about my network; nil when that is nothing.
    package var nat: NATReport?

    package init(candidates: [SocketAddress], nat: NATReport? = nil) {
        self.candidates = candidates
        self.nat = nat?.withoutAddresses
    }
}

/// Our attributes, all of the range that a stranger may skip (RFC 8489 §18.3.2).
enum PathAttribute {
    /// 8 bytes, always the first attribute: the connection, as the sender's direction calls it.
    static let linkTag: UInt16 = 0xd6e0
    /// 8 bytes, in questions.
    static let counter: UInt16 = 0xd6e1
    /// 8 bytes, a `PathMark`.
    static let unheard: UInt16 = 0xd6e2
    /// Like XOR-MAPPED-ADDRESS; up to 16 of them.
    static let candidate: UInt16 = 0xd6e3
    /// A URL; up to 3 of them.
    static let relay: UInt16 = 0xd6e4
    /// 8 bytes, a `NATAttribute`.
    static let nat: UInt16 = 0xd6e5
}

/// Binding is the method of RFC 8489 §3; CALL and OFFER are ours.
enum PathMethod {
    static let binding: UInt16 = 0x001
    static let call: UInt16 = 0x0ca
    static let offer: UInt16 = 0x0cb
}
