import MewBase
import MewLoop
import MewPath
import MewQUIC

// Small packets before large ones, where the peer can answer them.

extension PathKeeper {
    /// False when the library cannot probe now.
    func begin(_ number: PathSelector.ProbeNumber, _ addresses: [SocketAddress]) -> Bool {
        // A peer without path messages names no addresses beside the connection either: they are those that we dialled.
        guard connection.assumeIsolated({ $0.speaksBeside }) else { return probe(number, addresses) }
        // A large probe costs one of the connection IDs that the peer has given, and while it is silent it gives no others.
        let isSilent = sample()?.isSilent(now: loop.now) ?? false
        check = AddressCheck(number, addresses, dialled: isSilent ? [] : dialled, now: loop.now)
        report("path_check", "asking \(addresses.count) addresses of a peer whether it is there")
        offer()
        guard let first = check?.look(now: loop.now) else { return true }
        ask(first)
        for case .probe(let addresses) in first where !probe(number, addresses) {
            check = nil
            return false
        }
        return true
    }

    /// These became known while the others are asked.
    func widen(_ number: PathSelector.ProbeNumber, _ addresses: [SocketAddress]) {
        guard check?.number == number else { return }
        check?.add(addresses, now: loop.now)
        report("path_check", "asking \(addresses.count) more addresses of a peer whether it is there")
        if let actions = check?.look(now: loop.now) { perform(actions, number) }
    }

    func checked(_ address: SocketAddress) {
        check?.answered(address)
        tendCheck()
        rearm()
    }

    func probed(_ number: PathSelector.ProbeNumber, answeredBy address: SocketAddress?) {
        guard address == nil, check?.number == number else {
            if check?.number == number { check = nil }
            return take(.probed(number, answeredBy: address))
        }
        check?.probedInVain()
        tendCheck()
        rearm()
    }

    /// Does what is due. The end of a check is told, and may begin another.
    func tendCheck() {
        guard let number = check?.number, let actions = check?.look(now: loop.now) else { return }
        perform(actions, number)
    }

    private func perform(_ actions: [AddressCheck.Action], _ number: PathSelector.ProbeNumber) {
        ask(actions)
        for action in actions {
            switch action {
            case .ask: break
            case .probe(let addresses):
                guard !probe(number, addresses) else { break }
                check = nil
                take(.probeRefused(number))
            case .join(let addresses): join(number, addresses)
            case .over(let passSmall):
                check = nil
                if !passSmall.isEmpty { take(.passSmall(number, passSmall)) }
                take(.probed(number, answeredBy: nil))
            }
        }
    }

    private func ask(_ actions: [AddressCheck.Action]) {
        for case .ask(let addresses) in actions {
            for address in addresses where checkBudget.take(now: loop.now) {
                connection.assumeIsolated { $0.check(address) }
            }
        }
    }
}
