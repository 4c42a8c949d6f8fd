internal import MewBase
internal import MewSim

/// One thing that people do, or that happens to them.
package enum SessionAct: Hashable, Sendable, CustomStringConvertible {
    // What people do, each at a device.
    case prompt(Int)
    /// A prompt whose answer is longer than what may wait for a device.
    case flood(Int)
    case guide(Int)
    /// Answers the oldest question that it shows.
    case answer(Int)
    /// Every device answers at once, and not the same.
    case race
    case cancel(Int)
    case clear(Int)
    case compact(Int)
    case takeLease(Int)
    case releaseLease(Int)
    case detach(Int)
    case attach(Int)
    case pageBack(Int)
    /// Is in a hurry for some time: what nobody knows about is sent again at once, as it was.
    case resend(Int, Duration)

    // What happens.
    case cut(Cut, Duration)
    /// A device's process is stopped.
    case freeze(Int, Duration)
    case freezeDesk(Duration)
    case killDevice(Int, startingAgainAfter: Duration)
    case stopDesk(startingAgainAfter: Duration)
    case killDesk(SimDesk.Dying, startingAgainAfter: Duration)
    case fillDisk(leaving: Int, Duration)
    /// The line to a device is that of a bad day: 60 kB/s.
    case narrow(Int, Duration)
    /// What a device has sent on some streams reaches the daemon later, and what it sends on others at once.
    case hold(Held, Int, Duration)

    package enum Held: Hashable, Sendable {
        /// Those of sessions that are open now.
        case sessions
        /// The first one of each connection, after the hello.
        case control
    }

    package enum Cut: Hashable, Sendable {
        case all
        case device(Int)
        case toDesk(Int)
        case fromDesk(Int)
    }

    package var description: String {
        switch self {
        case .prompt(let device): ".prompt(\(device))"
        case .flood(let device): ".flood(\(device))"
        case .guide(let device): ".guide(\(device))"
        case .answer(let device): ".answer(\(device))"
        case .race: ".race"
        case .cancel(let device): ".cancel(\(device))"
        case .clear(let device): ".clear(\(device))"
        case .compact(let device): ".compact(\(device))"
        case .takeLease(let device): ".takeLease(\(device))"
        case .releaseLease(let device): ".releaseLease(\(device))"
        case .detach(let device): ".detach(\(device))"
        case .attach(let device): ".attach(\(device))"
        case .pageBack(let device): ".pageBack(\(device))"
        case .resend(let device, let time): ".resend(\(device), \(Self.text(time)))"
        case .hold(let held, let device, let time): ".hold(.\(held), \(device), \(Self.text(time)))"
        case .cut(let cut, let time): ".cut(.\(cut), \(Self.text(time)))"
        case .freeze(let device, let time): ".freeze(\(device), \(Self.text(time)))"
        case .freezeDesk(let time): ".freezeDesk(\(Self.text(time)))"
        case .killDevice(let device, let pause): ".killDevice(\(device), startingAgainAfter: \(Self.text(pause)))"
        case .stopDesk(let pause): ".stopDesk(startingAgainAfter: \(Self.text(pause)))"
        case .killDesk(let dying, let pause): ".killDesk(.\(dying), startingAgainAfter: \(Self.text(pause)))"
        case .fillDisk(let bytes, let time): ".fillDisk(leaving: \(bytes), \(Self.text(time)))"
        case .narrow(let device, let time): ".narrow(\(device), \(Self.text(time)))"
        }
    }

    private static func text(_ time: Duration) -> String { ".milliseconds(\(Int(time.milliseconds)))" }

    /// Whether it happens to people, and is not what they do.
    package var isMishap: Bool {
        switch self {
        case .prompt, .flood, .guide, .answer, .race, .cancel, .clear, .compact, .takeLease, .releaseLease, .detach,
            .attach, .pageBack, .resend:
            false
        case .cut, .freeze, .freezeDesk, .killDevice, .stopDesk, .killDesk, .fillDisk, .narrow, .hold:
            true
        }
    }
}

/// What happens in one world, and when.
package struct SessionScript: TimedScript, Sendable, CustomStringConvertible {
    package struct Entry: TimedEntry, Hashable, Sendable, CustomStringConvertible {
        /// Since the one before, or since all devices showed the session.
        package var after: Duration
        package var act: SessionAct

        package init(after: Duration, _ act: SessionAct) { (self.after, self.act) = (after, act) }

        package var description: String { "(\(Int(after.milliseconds)) ms, \(act))" }
    }

    package static let devices = 3
    package static let maxEntries = 40

    package var entries: [Entry]

    package init(_ entries: [Entry]) { self.entries = entries }

    package var description: String { entries.map(\.description).joined(separator: " ") }
}
