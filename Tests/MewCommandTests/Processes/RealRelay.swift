import Glibc
import MewWire
import Testing

@testable import mew

/// `mew relay` in a process, and what it says about itself.
struct RealRelay: Sendable {
    let process: RealProcess
    let url: String
    private let prefix: [String]
    private let host: String
    private let port: Substring

    init(
        _ machine: RealMachine = RealMachine(), host: String = "127.0.0.1", logLevel: String = "warning",
        overUDP: Bool = false, _ more: [String] = []
    ) async throws {
        let udp = overUDP ? ["--udp", host + ":0"] : ["--no-udp"]
        process = try machine.start(
            ["relay", "--json", "--http", host + ":0", "--log-level", logLevel] + udp + more)
        let line = try #require(await process.out.line(containing: "ready"), "\(process.err.text)")
        let ready = try JSON(parsing: line)
        url = try #require(ready["urls"]?.asArray?.first?.asString)
        port = try #require(ready["http"]?.asString?.split(separator: ":").last)
        (prefix, self.host) = (machine.prefix, host)
    }

    /// What it counts under this name.
    func count(_ name: String) async throws -> Int {
        let request =
            #"exec 3<>/dev/tcp/\#(host)/\#(port); printf 'GET /metrics HTTP/1.1\r\nHost: relay\r\n\r\n' >&3; cat <&3"#
        let shell = try RealProcess(prefix + ["bash", "-ec", request])
        #expect(await shell.exit == 0, "\(shell.err.text)")
        let line = shell.out.lines.first { $0.hasPrefix("mew_relay_\(name) ") }
        return try #require(line?.split(separator: " ").last.flatMap { Int($0) }, "\(shell.out.text)")
    }

    /// Asks until it is so many.
    func wait(for name: String, toBe wanted: Int) async throws {
        while try await count(name) != wanted {}
    }

    /// What the kernel says of it: `VmRSS` and the like, in KiB.
    func kibibytes(_ name: String) async throws -> Int {
        let shell = try RealProcess(["awk", "$1 == \"\(name):\" { print $2 }", "/proc/\(process.number)/status"])
        #expect(await shell.exit == 0, "\(shell.err.text)")
        return try #require(shell.out.lines.first.flatMap { Int($0) })
    }

    func descriptors() async throws -> Int {
        let shell = try RealProcess(["ls", "/proc/\(process.number)/fd"])
        #expect(await shell.exit == 0, "\(shell.err.text)")
        return shell.out.lines.count
    }

    func stop() async {
        process.signal(SIGTERM)
        #expect(await process.exit == 0, "\(process.err.text)")
    }
}
