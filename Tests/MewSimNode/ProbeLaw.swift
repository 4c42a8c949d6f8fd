internal import MewBase
internal import MewSim
internal import MewWire

/// Counts what a dialler sends to addresses that do not carry its link: the law is five probes a second to each.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class ProbeLaw: @unchecked Sendable {
    private unowned let stage: SimStage
    private var sent: [SocketAddress: [Instant]] = [:]
    private var seenChanges = 0

    package static let perSecond = 5
    /// Probes are of full size. What is smaller answers a call of the peer, which itself says where to and how often.
    private static let probeBytes = 1_200
    /// The path is looked at less often than packets leave: what is sent so shortly before it is seen to change is not a probe.
    private static let slack: Duration = .milliseconds(85)

    /// From now on: the dial itself, which asks all addresses at once, is over.
    package init(_ stage: SimStage) {
        self.stage = stage
        stage.world.watch { [weak self] in self?.note($0) }
    }

    private func note(_ entry: Trace.Entry) {
        guard stage.near.machine.hosts.contains(entry.from.with(port: 0)) else { return }
        let present = stage.conversation.path
        for change in stage.conversation.paths.dropFirst(seenChanges) {
            guard case .direct(let address) = change.path else { continue }
            let limit = change.time.advanced(by: .zero - Self.slack)
            sent[address]?.removeAll { $0 >= limit }
        }
        seenChanges = stage.conversation.paths.count
        guard present != .direct(entry.to), entry.size >= Self.probeBytes else { return }
        sent[entry.to, default: []].append(entry.time)
    }

    /// How the law was broken; nil when it was kept.
    package var broken: String? {
        for (address, times) in sent {
            for (first, last) in zip(times, times.dropFirst(Self.perSecond))
            where first.duration(to: last) < .seconds(1) {
                // The present path may be this address without having been looked at.
                guard stage.world.now > last.advanced(by: Self.slack) else { continue }
                return
                    "\(Self.perSecond + 1) packets to \(address) within \(first.duration(to: last).milliseconds) ms, at \(SimWorld.start.duration(to: last))"
            }
        }
        return nil
    }
}
