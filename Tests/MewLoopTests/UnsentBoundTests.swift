import CSys
import MewBase
import Testing

@testable import MewLoop

@Suite("What waits in the kernel unsent", .timeLimit(.minutes(10)))
struct UnsentBoundTests {
    @Test(
        "the bound is what the line sends in 20 ms, from 4 KiB to twice what it was",
        arguments: [
            (1, 4096), (125_000, 4096), (204_799, 4096), (204_850, 4097), (819_200, nil), (1_000_000, 20_000),
            (1_638_400, 32_768), (.max, 32_768),
        ] as [(Int64, Int?)])
    func change(rate: Int64, bytes: Int?) {
        #expect(UnsentBound().change(atRate: rate) == bytes)
    }

    @Test("a socket whose peer reads nothing is given no more than the kernel sends, and the bound")
    func fullSocket() throws {
        let (one, other) = try Self.connection()
        defer { [one, other].forEach(csys_close) }
        let bound = UnsentBound()
        let block = [UInt8](repeating: 7, count: 64 << 10)
        var room = bound.room(one)
        while room > 0, csys_stream_write(one, block, min(room, block.count)) > 0 { room = bound.room(one) }
        #expect(csys_tcp_unsent(one) <= bound.bytes)
    }

    @Test("a Unix socket is not bounded")
    func unixSocket() throws {
        var (one, other): (Int32, Int32) = (-1, -1)
        try #require(csys_unix_pair(&one, &other) == 0)
        defer { [one, other].forEach(csys_close) }
        #expect(UnsentBound().room(one) == .max)
    }

    /// Both ends of a TCP connection over loopback.
    private static func connection() throws -> (Int32, Int32) {
        let listener = csys_tcp_listen(csys_address(SocketAddress.loopback(port: 0)))
        try #require(listener >= 0)
        defer { csys_close(listener) }
        var local = csys_address()
        try #require(csys_tcp_local(listener, &local) == 0)
        // Over loopback the listener's side is ready as soon as the other one has begun.
        let one = csys_tcp_connect(local)
        try #require(one >= 0)
        var peer = csys_address()
        let other = csys_tcp_accept(listener, &peer)
        try #require(other >= 0)
        return (one, other)
    }
}
