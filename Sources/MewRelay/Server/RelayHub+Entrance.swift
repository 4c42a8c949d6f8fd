internal import MewBase
internal import MewLoop
internal import MewWire

// Who may come in, and who has to give way.

extension RelayHub {
    /// Takes a connection; or turns it away, with words as long as there is time for that.
    func accept(_ socket: any StreamEnd, sealed: Bool) {
        let source = SourceBudget.Source(socket.peer)
        let refusal = enter(source)
        if let refusal {
            metrics.refused += 1
            tellRefused(source, socket.peer, refusal)
            guard budget.turnAway(source, limits) else { return socket.close(aborting: true) }
        } else {
            metrics.accepted += 1
        }
        take(socket, sealed: sealed, turnedAway: refusal)
    }

    private func take(_ socket: any StreamEnd, sealed: Bool, turnedAway: SourceBudget.Refusal?) {
        lastNumber += 1
        do {
            let tls = try sealed ? identity.map { identity throws(TLSFailure) in try TLSEngine(server: identity) } : nil
            let number = ConnectionNumber(raw: lastNumber)
            let connection = RelayConnection(
                number: number, socket: socket, tls: tls, hub: self, turnedAway: turnedAway)
            try connection.start()
            connections[number] = connection
            if connection.isStranger { strangers.append(number) }
        } catch {
            let source = SourceBudget.Source(socket.peer)
            if turnedAway == nil { budget.leave(source, wasStranger: true) } else { budget.leaveTurnedAway(source) }
            socket.close(aborting: true)
            diagnostics.record(
                Diagnostic(.warning, "relay", "connection_failed", "a connection could not be taken: \(error)"))
        }
    }

    func enter(_ source: SourceBudget.Source) -> SourceBudget.Refusal? {
        guard let refusal = budget.enter(source, limits) else { return nil }
        let isRoomMade =
            switch refusal {
            case .strangers: dismissStranger { _ in true }
            case .sourceStrangers: dismissStranger { $0 == source }
            case .connections, .sourceConnections: false
            }
        return isRoomMade ? budget.enter(source, limits) : refusal
    }

    /// Ends the stranger that has been here longest, when that is long enough.
    private func dismissStranger(_ isMeant: (SourceBudget.Source) -> Bool) -> Bool {
        for number in strangers {
            guard let stranger = connections[number],
                stranger.accepted.duration(to: now) >= limits.admissionWhenFull
            else { return false }
            guard isMeant(stranger.source) else { continue }
            metrics.dismissed += 1
            drop(stranger, .tooSlow)
            return true
        }
        return false
    }

    func replace(rules: AccessRules) {
        self.rules = rules
        for connection in Array(connections.values) {
            // A guest comes again and shows whose it is, if it was not asked before.
            guard let node = connection.node, connection.refusal(as: node) != nil else { continue }
            metrics.denied += 1
            connection.end(code: 1008, "not authorized any more", .denied("not authorized any more"))
        }
        for client in Array(http3.values) where client.isRefusedNow {
            metrics.denied += 1
            client.end(.denied, "not authorized any more", .denied("not authorized any more"))
        }
    }
}
