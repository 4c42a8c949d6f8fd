public import MewWire

/// One operating-system process, named so that a later process with the same number is not mistaken for it.
///
/// A process is the same exactly when all three are: numbers are reused within a boot, and start times are counted from it.
public struct AgentProcess: Record, Hashable, Sendable {
    public let number: Int32
    /// Field 22 of `/proc/PID/stat`: clock ticks between boot and start.
    public let startTicks: UInt64
    /// `/proc/sys/kernel/random/boot_id`.
    public let bootID: String

    public init(number: Int32, startTicks: UInt64, bootID: String) {
        self.number = number
        self.startTicks = startTicks
        self.bootID = bootID
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        number = Int32(truncatingIfNeeded: try f.required("pid", old.map { Int64($0.number) }))
        startTicks = try f.required("start_ticks", old?.startTicks)
        bootID = try f.required("boot_id", old?.bootID)
    }
}
