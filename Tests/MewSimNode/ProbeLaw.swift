package import MewBase
internal import MewSim
internal import MewWire

/// Counts what each side sends to addresses that do not carry its link: the law is five probes a second to each. Probes are large
/// packets of QUIC and questions beside it. Answers are not counted, neither to a question nor the one that is owed for each check
/// of a path (RFC 9000 §8.2.2): about those decides who asked. Such a check is a large packet, or a small one when its sender has
/// heard too little from there to be allowed a large one (§8.2.1); that looks like any small packet, and its answer leaves in the
/// instant in which it comes.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class ProbeLaw: @unchecked Sendable {
    package enum Counted: Sendable {
        case everything
        /// Not the large packets: a dial sends those to all addresses at once.
        case questions
    }

    private unowned let stage: SimStage
    private let counted: Counted
    private var near = ProbeCount(slack: .milliseconds(85))
    private var far = ProbeCount(slack: .zero)

    /// From now on. Large packets count only when the dial itself is over.
    package init(_ stage: SimStage, _ counted: Counted = .everything) {
        (self.stage, self.counted) = (stage, counted)
        stage.world.watch { [weak self] in self?.note($0, $1) }
        stage.world.watchArrivals { [weak self] in self?.noteArrival($0, $1) }
    }

    private func noteArrival(_ entry: Trace.Entry, _ bytes: UnsafeRawBufferPointer) {
        guard ProbeCount.mayCheck(bytes) else { return }
        let host = entry.to.with(port: 0)
        if stage.near.machine.hosts.contains(host) { near.heardSmall(from: entry.from, at: entry.time) }
        if stage.far.machine.hosts.contains(host) { far.heardSmall(from: entry.from, at: entry.time) }
    }

    private func note(_ entry: Trace.Entry, _ bytes: UnsafeRawBufferPointer) {
        let host = entry.from.with(port: 0)
        guard let kind = ProbeCount.Kind(bytes), counted == .everything || kind == .question else { return }
        if stage.near.machine.hosts.contains(host) {
            far.asked(kind, at: entry.time)
            near.moved(stage.conversation.paths)
            near.sent(kind, to: entry.to, at: entry.time)
        } else if stage.far.machine.hosts.contains(host) {
            near.asked(kind, at: entry.time)
            far.moved(stage.conversation.farPaths)
            far.sent(kind, to: entry.to, at: entry.time)
        }
    }

    /// How the law was broken; nil when it was kept.
    package var broken: String? {
        let now = stage.world.now
        // Whoever sent nothing large any more was not asked where it is.
        near.moved(stage.conversation.paths)
        far.moved(stage.conversation.farPaths)
        if let excess = near.excess(now: now) { return "the dialler sent \(excess)" }
        return far.excess(now: now).map { "the listener sent \($0)" }
    }
}

/// Counts what one side sends to addresses that do not carry its link. A value.
package struct ProbeCount: Sendable {
    package enum Kind: Sendable {
        /// A path message that asks (RFC 8489 §5).
        case question
        /// A packet of QUIC of the size that a check of a path has.
        case large

        /// Nil for everything else.
        init?(_ bytes: UnsafeRawBufferPointer) {
            guard let first = bytes.first else { return nil }
            // The first bit of the class of a path message is the lowest of its first byte; QUIC begins with 64.
            switch first {
            case 0...3: if first & 1 == 0 { self = .question } else { return nil }
            default: if bytes.count >= Self.largeBytes { self = .large } else { return nil }
            }
        }

        private static let largeBytes = 1_200
    }

    package static let perSecond = 5
    /// How long a large packet of the peer may be under way, and its answer wait for room.
    private static let answerTime: Duration = .seconds(1)

    /// What is sent so shortly before the path is seen to change is not a probe: a path that is looked at now and then is seen
    /// later than packets leave by it.
    private let slack: Duration
    private var sent: [SocketAddress: [Instant]] = [:]
    /// Large packets of the peer that are not answered yet.
    private var owed: [Instant] = []
    /// Small packets of QUIC that have come in this instant, by where from.
    private var heard: (at: Instant, from: [SocketAddress: Int]) = (.zero, [:])
    private var present: LinkPath?
    private var seenChanges = 0

    package init(slack: Duration) {
        self.slack = slack
    }

    /// The peer has sent something to one of our addresses.
    package mutating func asked(_ kind: Kind, at time: Instant) {
        owed.removeAll { $0.duration(to: time) > Self.answerTime }
        switch kind {
        case .question: break
        case .large: owed.append(time)
        }
    }

    /// Whether this may be a check of a path that is smaller than it should be.
    package static func mayCheck(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = bytes.first else { return false }
        return first >= 64 && Kind(bytes) == nil
    }

    /// Such a packet has come.
    package mutating func heardSmall(from address: SocketAddress, at time: Instant) {
        if heard.at != time { heard = (time, [:]) }
        heard.from[address, default: 0] += 1
    }

    private mutating func answersSmall(to address: SocketAddress, at time: Instant) -> Bool {
        guard heard.at == time, let count = heard.from[address], count > 0 else { return false }
        heard.from[address] = count - 1
        return true
    }

    /// - Parameter paths: all until now; those from before are known.
    package mutating func moved(_ paths: [Conversation.PathChange]) {
        for change in paths.dropFirst(seenChanges) {
            guard case .direct(let address) = change.path else { continue }
            let limit = change.time.advanced(by: .zero - slack)
            sent[address]?.removeAll { $0 >= limit }
        }
        seenChanges = paths.count
        present = paths.last?.path
    }

    package mutating func sent(_ kind: Kind, to address: SocketAddress, at time: Instant) {
        guard present != .direct(address) else { return }
        switch kind {
        case .large where !owed.isEmpty && owed[0].duration(to: time) <= Self.answerTime: owed.removeFirst()
        case .large where answersSmall(to: address, at: time): break
        case .large, .question: sent[address, default: []].append(time)
        }
    }

    /// Where there was more than the law allows, in words.
    package func excess(now: Instant) -> String? {
        for (address, times) in sent {
            for (first, last) in zip(times, times.dropFirst(Self.perSecond))
            where first.duration(to: last) < .seconds(1) {
                // The present path may be this address without having been looked at.
                guard now > last.advanced(by: slack) else { continue }
                return "\(Self.perSecond + 1) probes to \(address) within \(first.duration(to: last).milliseconds) ms, "
                    + "at \(SimWorld.start.duration(to: last))"
            }
        }
        return nil
    }
}
