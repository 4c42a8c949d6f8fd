internal import MewBase
internal import MewLoop

// Who may come in, and who has to give way.

extension RelayHub {
    /// Takes a connection, or refuses it at once.
    func accept(_ socket: any StreamEnd, sealed: Bool) {
        let source = SourceBudget.Source(socket.peer)
        if let refusal = enter(source) {
            metrics.refused += 1
            diagnostics.record(ifWanted: .debug) {
                Diagnostic(.debug, "relay", "connection_refused", "too many connections: \(refusal.rawValue)")
            }
            return socket.close(aborting: true)
        }
        metrics.accepted += 1
        lastNumber += 1
        do {
            let tls = try sealed ? identity.map { identity throws(TLSFailure) in try TLSEngine(server: identity) } : nil
            let number = ConnectionNumber(raw: lastNumber)
            let connection = RelayConnection(number: number, socket: socket, tls: tls, hub: self)
            try connection.start()
            connections[number] = connection
            strangers.append(number)
        } catch {
            budget.leave(source, wasStranger: true)
            socket.close(aborting: true)
            diagnostics.record(
                Diagnostic(.warning, "relay", "connection_failed", "a connection could not be taken: \(error)"))
        }
    }

    private func enter(_ source: SourceBudget.Source) -> SourceBudget.Refusal? {
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
}
