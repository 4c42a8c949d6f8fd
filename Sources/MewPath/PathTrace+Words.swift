package import MewBase

// A trace as people read it: one line each, in words that a search finds.

extension PathTrace.Entry {
    /// `-12.345 s  relayed by URL, unanswered for 1.2 s  called by … → probe …`
    ///
    /// - Parameter url: of a relay.
    package func line(now: Instant, _ url: @escaping (RelayNumber) -> String) -> String {
        let words = TraceWords(url: url)
        var line = "-\(Self.seconds(at.duration(to: now))) s  \(words.words(sample, at: at))"
        if let input { line += "  " + words.words(input) }
        if !steps.isEmpty { line += "  → " + steps.map { words.words($0) }.joined(separator: ", ") }
        return line
    }

    fileprivate static func seconds(_ duration: Duration) -> String {
        let milliseconds = max(0, duration.saturatingNanoseconds / 1_000_000)
        let rest = String(milliseconds % 1_000)
        return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
    }
}

private struct TraceWords {
    let url: (RelayNumber) -> String

    func words(_ sample: PathSample, at: Instant) -> String {
        var words = sample.way.map(self.words) ?? "no way"
        if let since = sample.unansweredSince { words += ", unanswered for \(seconds(since, at)) s" }
        if let since = sample.stalledSince { words += ", stalled for \(seconds(since, at)) s" }
        if sample.isMisled { words += ", round trips misled" }
        if !sample.canMove { words += ", not confirmed" }
        return words
    }

    private func seconds(_ from: Instant, _ to: Instant) -> String { PathTrace.Entry.seconds(from.duration(to: to)) }

    private func words(_ way: PathWay) -> String {
        switch way {
        case .direct(let address): "direct \(address)"
        case .relay(let number): "relay \(url(number))"
        }
    }

    private func words(_ addresses: [SocketAddress]) -> String {
        addresses.isEmpty ? "nothing" : addresses.map { "\($0)" }.joined(separator: " ")
    }

    func words(_ input: PathSelector.Input) -> String {
        switch input {
        case .probed(let number, let address):
            "probe \(number.number) answered by \(address.map { "\($0)" } ?? "nobody")"
        case .passSmall(let number, let addresses):
            "probe \(number.number): only small packets pass at \(words(addresses))"
        case .probeRefused(let number): "probe \(number.number) could not be sent"
        case .relayChanged(let number, let since): "\(url(number)) \(since == nil ? "is away" : "forwards")"
        case .networkChanged: "the network changed"
        case .called(let call): words(call)
        case .learnt(let addresses): "learnt \(words(addresses))"
        case .advertised(let numbers): "the peer is at \(numbers.map(url).joined(separator: " "))"
        case .proven(let address): "a handshake went by \(address)"
        case .found(let number): "the peer answered through \(url(number))"
        case .surveyed(let report): "surveyed: IPv4 \(words(report.ipv4)), IPv6 \(words(report.ipv6))"
        }
    }

    private func words(_ call: PathCall) -> String {
        let why = call.isUnheard ? "does not hear us, and called" : call.isReply ? "answered our offer" : "called"
        let way = call.cameBy.map { " by \(words($0))" } ?? ""
        let nat = call.nat.map { "; its IPv4 \(words($0.ipv4)), IPv6 \(words($0.ipv6))" } ?? ""
        let left = call.unroutable > 0 ? ", and \(call.unroutable) of another family" : ""
        return "the peer \(why)\(way): \(words(call.candidates))\(left)\(nat)"
    }

    private func words(_ finding: NATReport.Finding) -> String {
        "UDP \(finding.udp), mapping \(finding.mapping), filtering \(finding.filtering)"
    }

    func words(_ step: PathSelector.Step) -> String {
        switch step {
        case .probe(let number, let addresses): "probe \(number.number) of \(words(addresses))"
        case .widen(let number, let addresses): "probe \(number.number) also of \(words(addresses))"
        case .invite: "invite"
        case .use(let way): "use \(words(way))"
        case .ask(let number): "ask \(url(number))"
        case .retryRelays: "retry the relays"
        case .seek: "seek the peer"
        }
    }
}
