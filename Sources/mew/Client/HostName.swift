import MewBase
import MewWire

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What this machine is called, without its domain: how a daemon's list shows the device.
enum HostName {
    static var current: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "mew" }
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let host = String(decoding: bytes, as: UTF8.self)
        let name = String(host.prefix { $0 != "." }).printableName
        return name.isEmpty ? "mew" : name
    }
}

extension WallTime {
    /// For display and records only.
    static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
