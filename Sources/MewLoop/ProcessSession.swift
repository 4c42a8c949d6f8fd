internal import CSys
internal import Glibc

/// The processes of one session in the sense of setsid(2): the leader that we started and what came from it, in whatever
/// process group, as long as it did not leave by a setsid of its own.
///
/// A session's number cannot be given to another process while any of its members lives, so the number together with the
/// leader's start names the whole session. The calls read `/proc` and take about a millisecond.
package struct ProcessSession: Sendable {
    package let leader: ProcessIdentity

    package init(leader: ProcessIdentity) {
        self.leader = leader
    }

    /// One living process.
    package struct Member: Hashable, Sendable {
        package let number: Int32
        let startTicks: UInt64

        /// The command line, blanks between the words, cut to 64 KiB; empty when it is gone.
        package var commandLine: String { arguments.joined(separator: " ") }

        package var arguments: [String] {
            (ProcessStatus.read("/proc/\(number)/cmdline") ?? []).split(separator: 0)
                .map { String(decoding: $0, as: UTF8.self) }
        }

        /// Becomes readable when the process has ended; nil when it has already.
        package func descriptor() -> Descriptor? {
            let number = csys_pidfd_open(number)
            guard number >= 0 else { return nil }
            let descriptor = Descriptor(owning: number)
            return ProcessStatus(of: self.number)?.startTicks == startTicks ? descriptor : nil
        }
    }

    /// Those who live, zombies not counted.
    package func members() -> [Member] {
        guard leader.bootID == ProcessIdentity.currentBoot else { return [] }
        // Somebody else has the number: then nobody of ours is left.
        if let holder = ProcessStatus(of: leader.number), holder.startTicks != leader.startTicks { return [] }
        return ProcessStatus.all().filter {
            $0.session == leader.number && !$0.isDead && $0.startTicks >= leader.startTicks
        }
        .map { Member(number: $0.number, startTicks: $0.startTicks) }
    }

    /// Living processes of any session whose environment holds `marker`, a `NAME=value` that the leader was started with:
    /// those who left the session are among them. A process can hide by clearing its environment.
    package static func processes(marked marker: String) -> [Member] {
        let marker = Array(marker.utf8)
        return ProcessStatus.all().filter { process in
            guard !process.isDead, let environment = ProcessStatus.read("/proc/\(process.number)/environ") else {
                return false
            }
            return environment.split(separator: 0).contains { $0.elementsEqual(marker) }
        }.map { Member(number: $0.number, startTicks: $0.startTicks) }
    }

    /// Signals every member, the leader's process group at once so that none of it can fork away.
    package func signal(_ signal: Int32) {
        let members = members()
        guard !members.isEmpty else { return }
        _ = csys_group_signal(leader.number, signal)
        for member in members { Self.signal(member, signal) }
    }

    /// The signal that asks a process to end.
    package static let termination = SIGTERM

    /// Kills until nobody is left: members of other groups may fork while we look.
    ///
    /// - Returns: those who do not die, such as processes that wait for a dead disk.
    @discardableResult
    package func kill() -> [Member] {
        for _ in 0..<Self.killRounds {
            let living = members()
            guard !living.isEmpty else { return [] }
            signal(SIGKILL)
            for member in living { Self.awaitEnd(of: member) }
        }
        return members()
    }

    /// More rounds than a chain of forks that was under way can take.
    private static let killRounds = 10
    /// A killed process is gone within microseconds unless it hangs in the kernel.
    private static let killPatienceMilliseconds: Int32 = 200

    /// The descriptor makes sure that it is still the same process that is signalled.
    private static func signal(_ member: Member, _ signal: Int32) {
        if let descriptor = member.descriptor() { _ = csys_pidfd_signal(descriptor.number, signal) }
    }

    private static func awaitEnd(of member: Member) {
        guard let descriptor = member.descriptor() else { return }
        var wait = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        _ = poll(&wait, 1, killPatienceMilliseconds)
    }
}
