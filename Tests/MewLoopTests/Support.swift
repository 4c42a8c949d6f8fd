import Glibc
import MewBase
import MewLoop
import Synchronization

/// A variable that closures share. On one thread only.
final class Box<Value> {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// A variable that threads share.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }

    func with<Result: Sendable>(_ body: (inout sending Value) -> sending Result) -> Result { value.withLock(body) }
    var current: Value { value.withLock { $0 } }
}

/// Runs `body` with a loop that is stopped afterwards.
func withLoop<Result: Sendable>(
    spin: Duration = .zero, waitsInMilliseconds: Bool = false, _ body: @Sendable (EventLoop) async throws -> Result
) async throws -> Result {
    let loop = try EventLoop(name: "test", spin: spin, waitsInMilliseconds: waitsInMilliseconds)
    defer { loop.stop() }
    return try await body(loop)
}

extension Loop {
    /// Runs `body` on the loop's thread and returns what it made.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await spawn { Swift.Result { try body() } }.value.get()
    }
}

/// Counts on its loop; the smallest pinned actor.
actor Counter {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: any Loop
    private(set) var count = 0
    private(set) var wasAlwaysOnLoop = true

    init(_ loop: any Loop) {
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    func increment() {
        count += 1
        wasAlwaysOnLoop = wasAlwaysOnLoop && loop.isCurrent
    }
}

/// Sends datagrams without payload, which our own sockets never do.
func sendEmptyDatagrams(_ count: Int, to address: SocketAddress) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(descriptor) }
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = address.port.bigEndian
    name.sin_addr.s_addr = address.ipv4.bigEndian
    for _ in 0..<count {
        let sent = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, nil, 0, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard sent == 0 else { throw SystemError(errno: errno, doing: "sending an empty datagram") }
    }
}
