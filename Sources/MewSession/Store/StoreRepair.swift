public import MewWire

/// That a damaged database was repaired, and how much of it was left to read. What single sessions lost is said by `SessionLoss`.
public struct StoreRepair: Record, Sendable, Hashable {
    /// Where the damaged file is now.
    public var setAside: String
    /// Of all kinds; zero when nothing could be read.
    public var keptRows: UInt64
    /// Every session that was there is there still, or named among the losses. Otherwise some may be gone without a trace.
    public var knowsSessions: Bool
    /// Every paired device is known still.
    public var knowsDevices: Bool

    public init(setAside: String, keptRows: UInt64, knowsSessions: Bool, knowsDevices: Bool) {
        (self.setAside, self.keptRows) = (setAside, keptRows)
        (self.knowsSessions, self.knowsDevices) = (knowsSessions, knowsDevices)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        setAside = try f.required("old_file", old?.setAside)
        keptRows = try f.required("kept", old?.keptRows)
        knowsSessions = try f.required("knows_sessions", old?.knowsSessions)
        knowsDevices = try f.required("knows_devices", old?.knowsDevices)
    }
}

extension [StoreRepair] {
    /// A list as it is kept; empty when there is none, or none that can be read.
    public init(stored text: String?) {
        guard let text, let json = try? JSON(parsing: Array<UInt8>(text.utf8)), let list = try? Self.decode(json) else {
            self = []
            return
        }
        self = list
    }

    public var stored: String { String(decoding: encoded(), as: UTF8.self) }
}

extension SettingName {
    /// The repairs that are told, as `[StoreRepair].stored`; goes with `losses`.
    public static let repairs: SettingName = "store.repairs"
}
