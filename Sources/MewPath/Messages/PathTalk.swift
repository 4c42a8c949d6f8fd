package import MewBase

/// One side of the talk beside a connection: what it asked, what it may answer, what it has heard. A value.
package struct PathTalk: Sendable {
    package enum Heard: Hashable, Sendable {
        /// Say this back where it came from.
        case question(answer: [UInt8])
        /// The same, and the peer tells this. `isNew`: no later call came before it.
        case call(Call, isNew: Bool, answer: [UInt8])
        /// The same of an offer.
        case offer(Offer, isNew: Bool, answer: [UInt8])
        /// The peer has our question.
        case answer(Question, observed: SocketAddress?, roundTrip: Duration)
    }

    package enum Question: Hashable, Sendable {
        case probe, call, offer
        /// A probe that only this address can have answered.
        case check(SocketAddress)
    }

    private struct Asked {
        let transaction: TransactionID
        let question: Question
        let at: Instant
    }

    package let keys: PathKeys
    private var window = ReplayWindow()
    private var lastCounter: UInt64 = 0
    private var lastCall: UInt64 = 0
    private var lastOffer: UInt64 = 0
    private var asked: [Asked] = []
    /// A check costs four microseconds: a router that has seen the tag costs us a thousandth of the time.
    private var reading = RateLimit(burst: 256, perSecond: 256)
    /// More than a peer asks that calls over eight ways.
    private var answering = RateLimit(burst: 16, perSecond: 16)

    /// Questions that may still be answered: all of one check of addresses, and three rounds over every way a connection has;
    /// older ones are forgotten.
    static let maxAsked = 96
    /// An answer that took longer tells nothing about now.
    static let patience: Duration = .seconds(10)

    package init(_ keys: PathKeys) {
        self.keys = keys
    }

    // MARK: - Asking

    /// A question to send; a new one for every way and every time.
    ///
    /// - Parameter address: where it goes, when nobody else's answer shall count: its transaction is known to nobody but who
    ///   receives it.
    package mutating func ask(
        _ content: PathMessage.Content, of address: SocketAddress? = nil, entropy: some Entropy, now: Instant
    ) -> [UInt8] {
        let transaction = TransactionID(random: entropy)
        lastCounter += 1
        switch content {
        case .probe:
            let question = address.map { Question.check($0) } ?? .probe
            note(Asked(transaction: transaction, question: question, at: now))
        case .call: note(Asked(transaction: transaction, question: .call, at: now))
        case .offer: note(Asked(transaction: transaction, question: .offer, at: now))
        case .probeAnswer, .callAnswer, .offerAnswer: preconditionFailure("an answer is no question")
        }
        return PathMessage(transaction: transaction, counter: lastCounter, content: content).encoded(keys)
    }

    private mutating func note(_ question: Asked) {
        if asked.count >= Self.maxAsked { asked.removeFirst() }
        asked.append(question)
    }

    // MARK: - Hearing

    /// Nil for what the peer did not write, has written before, or writes too often: there is no answer to it.
    ///
    /// - Parameter source: where it came from; nil when through a relay.
    package mutating func hear(_ bytes: [UInt8], from source: SocketAddress?, now: Instant) -> Heard? {
        guard reading.take(now: now), let message = PathMessage.read(bytes, keys) else { return nil }
        switch message.content {
        case .probe:
            return answer(message, .probeAnswer(observed: source), now).map { .question(answer: $0) }
        case .call(let call):
            guard let reply = answer(message, .callAnswer(observed: source), now) else { return nil }
            defer { lastCall = max(lastCall, message.counter) }
            return .call(call, isNew: message.counter > lastCall, answer: reply)
        case .probeAnswer(let observed):
            return answered(message.transaction, [.probe] + (source.map { [.check($0)] } ?? []), observed, now)
        case .callAnswer(let observed): return answered(message.transaction, [.call], observed, now)
        case .offer(let offer):
            guard let reply = answer(message, .offerAnswer(observed: source), now) else { return nil }
            defer { lastOffer = max(lastOffer, message.counter) }
            return .offer(offer, isNew: message.counter > lastOffer, answer: reply)
        case .offerAnswer(let observed): return answered(message.transaction, [.offer], observed, now)
        }
    }

    private mutating func answer(
        _ question: PathMessage, _ content: PathMessage.Content, _ now: Instant
    ) -> [UInt8]? {
        // The budget first: what is not answered now may be repeated.
        guard answering.take(now: now), window.take(question.counter) else { return nil }
        return PathMessage(transaction: question.transaction, counter: 0, content: content).encoded(keys)
    }

    private mutating func answered(
        _ transaction: TransactionID, _ possible: [Question], _ observed: SocketAddress?, _ now: Instant
    ) -> Heard? {
        asked.removeAll { $0.at.duration(to: now) > Self.patience }
        let isMeant = { (asked: Asked) in asked.transaction == transaction && possible.contains(asked.question) }
        guard let index = asked.firstIndex(where: isMeant) else { return nil }
        let question = asked.remove(at: index)
        return .answer(question.question, observed: observed, roundTrip: question.at.duration(to: now))
    }
}
