import MewSession
package import MewWire

/// What a damaged database lost: told at the start and by `mew status` until a start after a clean end.
package struct StoreDamage: Equatable, Sendable {
    package let repairs: [ControlRepair]
    package let losses: [ControlLoss]
    /// Sessions of which rows are left and not even the name.
    package let sessionsGone: Int

    package init(repairs: [ControlRepair] = [], losses: [ControlLoss] = [], sessionsGone: Int = 0) {
        (self.repairs, self.losses, self.sessionsGone) = (repairs, losses, sessionsGone)
    }

    /// As they stand in a status and in what a daemon says when it is ready.
    package var fields: [(String, JSON)] {
        [
            ("repairs", .array(repairs.map(\.row))), ("losses", .array(losses.map(\.row))),
            ("sessions_gone", .integer(Int64(sessionsGone))),
        ]
    }

    /// Nothing, when an older daemon does not know of it.
    init(_ reader: ControlFields) throws(ControlError) {
        var (repairs, losses): ([ControlRepair], [ControlLoss]) = ([], [])
        for repair in reader.optionalList("repairs") { repairs.append(try ControlRepair(repair)) }
        for loss in reader.optionalList("losses") { losses.append(try ControlLoss(loss)) }
        self.init(
            repairs: repairs, losses: losses,
            sessionsGone: Int(clamping: reader.optionalInteger("sessions_gone") ?? 0))
    }
}

/// One repair of a damaged database, as `mew status` shows it.
package struct ControlRepair: Equatable, Sendable {
    /// Where the damaged file is now.
    package let setAside: String
    /// Nothing at all could be read.
    package let isTotalLoss: Bool
    /// False when sessions may be gone without a trace.
    package let knowsSessions: Bool
    /// False when paired devices may be gone.
    package let knowsDevices: Bool

    package init(setAside: String, isTotalLoss: Bool, knowsSessions: Bool, knowsDevices: Bool) {
        (self.setAside, self.isTotalLoss) = (setAside, isTotalLoss)
        (self.knowsSessions, self.knowsDevices) = (knowsSessions, knowsDevices)
    }

    /// One object of `mew status --json`.
    package var row: JSON {
        [
            "old_file": .string(setAside), "total_loss": .bool(isTotalLoss), "knows_sessions": .bool(knowsSessions),
            "knows_devices": .bool(knowsDevices),
        ]
    }

    init(_ reader: ControlFields) throws(ControlError) {
        self.init(
            setAside: try reader.text("old_file"), isTotalLoss: try reader.flag("total_loss"),
            knowsSessions: try reader.flag("knows_sessions"), knowsDevices: try reader.flag("knows_devices"))
    }

    init(_ repair: StoreRepair) {
        self.init(
            setAside: repair.setAside, isTotalLoss: repair.keptRows == 0, knowsSessions: repair.knowsSessions,
            knowsDevices: repair.knowsDevices)
    }
}
