internal import CSys
internal import Glibc

/// One process, named so that a later one with the same number is not mistaken for it (NEEDS N-35).
///
/// Numbers are reused within a boot, and start times are counted from it: a process is the same exactly when all three are.
package struct ProcessIdentity: Hashable, Sendable {
    package let number: Int32
    /// Clock ticks between boot and start: field 22 of `/proc/PID/stat` (proc_pid_stat(5)).
    package let startTicks: UInt64
    /// `/proc/sys/kernel/random/boot_id`.
    package let bootID: String

    package init(number: Int32, startTicks: UInt64, bootID: String) {
        self.number = number
        self.startTicks = startTicks
        self.bootID = bootID
    }

    /// The process that has this number now; nil when there is none.
    package init?(now number: Int32) {
        guard let status = ProcessStatus(of: number) else { return nil }
        self.init(number: number, startTicks: status.startTicks, bootID: Self.currentBoot)
    }

    /// The process that asks. One that may not read about itself has a start time nobody else has: it never seems to go on.
    package static let this =
        ProcessIdentity(now: getpid()) ?? ProcessIdentity(number: getpid(), startTicks: 0, bootID: currentBoot)

    /// True while the process exists, also as a zombie that nobody has reaped.
    package var exists: Bool { ProcessIdentity(now: number) == self }

    /// True until the process has ended, reaped or not.
    package var isAlive: Bool {
        guard bootID == Self.currentBoot, let status = ProcessStatus(of: number) else { return false }
        return status.startTicks == startTicks && !status.isDead
    }

    package static let currentBoot: String = {
        let bytes = ProcessStatus.read("/proc/sys/kernel/random/boot_id") ?? []
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }()
}

/// What `/proc/PID/stat` tells of one process at one moment.
struct ProcessStatus {
    let number: Int32
    /// A single letter; `Z` is a zombie, `X` is on its way out.
    let state: UInt8
    let session: Int32
    let startTicks: UInt64

    var isDead: Bool { state == UInt8(ascii: "Z") || state == UInt8(ascii: "X") }

    init?(of number: Int32) {
        guard let bytes = Self.read("/proc/\(number)/stat") else { return nil }
        self.init(number: number, text: bytes)
    }

    /// Fields are separated by blanks, but the second one is the program's name in parentheses, which may hold anything:
    /// the last `)` ends it.
    init?(number: Int32, text: [UInt8]) {
        guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        // From field 3 on.
        let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
        guard fields.count >= 20, let state = fields[0].first, let session = Int32(Self.text(fields[3])),
            let startTicks = UInt64(Self.text(fields[19]))
        else { return nil }
        (self.number, self.state, self.session, self.startTicks) = (number, state, session, startTicks)
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// A small file of the process file system, at most 64 KiB of it; nil when it is gone or not ours to read.
    static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4_096)
        while bytes.count < 64 << 10 {
            let count = Glibc.read(descriptor, &block, block.count)
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            bytes += block[..<count]
        }
        return bytes
    }

    /// Every process that is visible to us.
    static func all() -> [ProcessStatus] {
        guard let directory = opendir("/proc") else { return [] }
        defer { closedir(directory) }
        var found: [ProcessStatus] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let number = Int32(name), let status = ProcessStatus(of: number) { found.append(status) }
        }
        return found
    }
}
