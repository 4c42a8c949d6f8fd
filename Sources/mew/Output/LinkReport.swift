import MewBase
import MewDaemon
import MewIdentity
import MewLoop
import MewWire

/// One link in `mew status`: as JSON, and as lines for people.
struct LinkReport {
    private let daemon: String
    private let node: NodeID
    private let path: PathWords
    /// For how long this path has carried the link.
    private let sinceMs: Int64?
    private let roundTripMs: Double?
    /// The age of the last proof that the peer is there.
    private let lastProofMs: Int64?
    private let whyNotDirect: WhyNotDirect?
    private let candidates: [PathCandidate]
    private let relays: [RelayCandidate]
    private let now: Instant
    /// The daemon's identity is in use elsewhere as well; nil where that is not known of a peer.
    private let isInTwoPlaces: Bool?

    /// - Parameter status: nil while there is no link.
    init(daemon: String, node: NodeID, _ status: LinkStatus?, isInTwoPlaces: Bool, now: Instant) {
        (self.daemon, self.node, self.now, self.isInTwoPlaces) = (daemon, node, now, isInTwoPlaces)
        path = PathWords(status?.path)
        sinceMs = status.map { Self.age($0.since, now) }
        lastProofMs = status.map { Self.age($0.lastProof, now) }
        roundTripMs = status?.roundTrip?.milliseconds
        whyNotDirect = status?.whyNotDirect
        candidates = status?.candidates ?? []
        relays = status?.relays ?? []
    }

    /// A link of this machine's daemon, as it tells it.
    ///
    /// - Parameter own: the name of this machine's daemon.
    init(_ link: ControlLink, of own: String) {
        let path: LinkPath? =
            link.relay.map { .relay(url: $0) } ?? link.address.flatMap { SocketAddress($0) }.map { .direct($0) }
        (daemon, node, self.path, now) = (link.name.printableName, link.node, PathWords(path), .zero)
        (sinceMs, roundTripMs, lastProofMs) = (link.sinceMs, link.roundTripMs, link.lastProofMs)
        whyNotDirect = link.whyNotDirect.map { Self.onward($0, own) }
        (candidates, relays, isInTwoPlaces) = ([], [], nil)
    }

    /// What only the other side knows can be asked there, by a command that answers there.
    private static func onward(_ reason: WhyNotDirect, _ own: String) -> WhyNotDirect {
        guard reason.code == .otherSideDecides else { return reason }
        return WhyNotDirect(
            reason.code, text: reason.text,
            help: "Run 'mew status \(shellQuoted(own))' on that device: it says why it does not, and what would help.")
    }

    private static func age(_ then: Instant, _ now: Instant) -> Int64 {
        max(0, then.duration(to: now).saturatingNanoseconds) / 1_000_000
    }

    // MARK: - For programs

    var json: JSONObject {
        [
            "daemon": .string(daemon), "node_id": .string(node.z32), "path": path.kind, "addr": path.address,
            "relay": path.relay, "since_ms": sinceMs.map(JSON.integer) ?? .null,
            "rtt_ms": roundTripMs.map(JSON.number) ?? .null, "last_proof_ms": lastProofMs.map(JSON.integer) ?? .null,
            "why_not_direct": whyNotDirect.map { .string($0.code.rawValue) } ?? .null,
            "why_text": whyNotDirect.map { .string($0.text) } ?? .null,
            "why_help": whyNotDirect?.help.map(JSON.string) ?? .null,
            "candidates": .array(candidates.map(row)), "relays": .array(relays.map(row)),
            "in_two_places": isInTwoPlaces.map(JSON.bool) ?? .null,
        ]
    }

    private func row(_ candidate: PathCandidate) -> JSON {
        let (state, code): (String, WhyNotDirect.Code?) =
            switch candidate.state {
            case .untried: ("untried", nil)
            case .checking: ("checking", nil)
            case .inUse: ("in_use", nil)
            case .works: ("works", nil)
            case .quarantined(let code): ("quarantined", code)
            }
        return [
            "addr": .string("\(candidate.address)"), "state": .string(state),
            "reason": code.map { .string($0.rawValue) } ?? .null, "failures": .integer(Int64(candidate.failures)),
            "next_try_in_ms": wait(candidate).map(JSON.integer) ?? .null,
        ]
    }

    private func row(_ relay: RelayCandidate) -> JSON {
        let (state, problem): (String, String?) =
            switch relay.state {
            case .connected(let complaint): ("connected", complaint)
            case .connecting: ("connecting", nil)
            case .failed(let problem): ("failed", problem)
            case .notWanted: ("not_wanted", nil)
            }
        return [
            "url": .string(relay.url), "connected": .bool(relay.isConnected), "state": .string(state),
            "problem": problem.map(JSON.string) ?? .null,
        ]
    }

    private func wait(_ candidate: PathCandidate) -> Int64? {
        candidate.nextTry.map { max(0, now.duration(to: $0).saturatingNanoseconds) / 1_000_000 }
    }

    // MARK: - For people

    var lines: [String] {
        let times = [
            sinceMs.map { "for \(Words.duration(milliseconds: $0))" },
            roundTripMs.map { "round trip \(Words.roundTrip(.nanoseconds(Int64($0 * 1_000_000))))" },
            lastProofMs.map { "last proof \(Words.duration(milliseconds: $0)) ago" },
        ].compactMap { $0 }
        var lines = ["\(daemon): \(path.sentence)", "  " + times.joined(separator: ", ")]
        if let whyNotDirect {
            lines.append("  not direct: \(whyNotDirect.text.printable(limit: 300))")
            if let help = whyNotDirect.help { lines.append("  what would help: \(help.printable(limit: 300))") }
        }
        lines += candidates.map { "  address \($0.address): \(words($0))" }
        lines += relays.enumerated().map { "  relay \($1.url.printable(limit: 100)): \(words($1, isFirst: $0 == 0))" }
        return lines
    }

    private func words(_ candidate: PathCandidate) -> String {
        switch candidate.state {
        case .untried: "not tried yet"
        case .checking: "being tried"
        case .inUse: "in use"
        case .works: "answers"
        case .quarantined(let code): "\(Self.words(code))\(again(candidate))"
        }
    }

    private func again(_ candidate: PathCandidate) -> String {
        wait(candidate).map { ", tried again in \(Words.duration(milliseconds: $0))" } ?? ""
    }

    private static func words(_ code: WhyNotDirect.Code) -> String {
        switch code {
        case .fellSilent: "answered, then fell silent"
        case .largePacketsLost: "lets only small packets through"
        case .notHeard: "the peer does not hear us there"
        case .noSuchFamily: "this machine has no network of that family"
        case .noAnswer, .noAddress, .checking, .otherSideDecides, .udpBlockedHere, .udpBlockedThere,
            .portPerDestination:
            "no answer"
        }
    }

    private func words(_ relay: RelayCandidate, isFirst: Bool) -> String {
        switch relay.state {
        case .connected(let complaint):
            (isFirst ? (path.isRelayed ? "in use" : "connected") : "standby")
                + (complaint.map { ", but \($0.printable(limit: 160))" } ?? "")
        case .connecting: "being connected to"
        case .failed(let problem): problem.printable(limit: 160)
        case .notWanted: "not needed now"
        }
    }
}
