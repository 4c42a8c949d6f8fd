import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewRelay

@Suite("Handles of a conversation over HTTP/3")
struct HandleTableTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func handle(_ number: UInt64) throws -> RelayHandle { try #require(RelayHandle(number)) }

    @Test("a node is bound once, and its datagrams may go when the other side has said that it understands")
    func binding() throws {
        var handles = OutgoingHandles(limit: 4)
        let node = try key(1).node
        #expect(handles.find(node, now: start) == .new(try handle(0), released: nil))
        #expect(handles.find(node, now: start) == .binding(try handle(0)))
        handles.understood(try handle(3))
        #expect(handles.find(node, now: start) == .binding(try handle(0)))
        handles.understood(try handle(0))
        #expect(handles.find(node, now: start) == .bound(try handle(0)))
        #expect(handles.find(try key(2).node, now: start) == .new(try handle(1), released: nil))
    }

    @Test("at the bound what was used longest ago is released, and its handle rests for ten seconds")
    func bound() throws {
        var handles = OutgoingHandles(limit: 2)
        let nodes = try (1...4).map { try key($0).node }
        _ = handles.find(nodes[0], now: start)
        _ = handles.find(nodes[1], now: start)
        _ = handles.find(nodes[0], now: start)
        #expect(handles.find(nodes[2], now: start) == .new(try handle(2), released: try handle(1)))
        #expect(handles.count == 2)
        let early = start.advanced(by: OutgoingHandles.rest - .nanoseconds(1))
        #expect(handles.find(nodes[3], now: early) == .new(try handle(3), released: try handle(0)))
        let later = start.advanced(by: OutgoingHandles.rest)
        #expect(handles.find(nodes[1], now: later) == .new(try handle(1), released: try handle(2)))
    }

    @Test("what comes is read by the handles that are bound, and no other; more than may be are refused")
    func incoming() throws {
        var handles = IncomingHandles(limit: 2)
        let node = try key(1).node
        func read(_ payload: [UInt8]) -> [UInt8]? {
            payload.withUnsafeBytes { handles.read($0).map { Array($0.packet) } }
        }
        #expect(handles.bind(try handle(5), to: node))
        #expect(handles.bind(try handle(100), to: node))
        #expect(!handles.bind(try handle(6), to: node))
        #expect(handles.bind(try handle(5), to: try key(2).node))
        #expect(read([5, 9, 8]) == [9, 8])
        #expect(read([0x40, 100, 7]) == [7])
        #expect(read([6, 9]) == nil)
        #expect(read([5]) == nil)
        #expect(read([]) == nil)
        handles.release(try handle(5))
        #expect(read([5, 9]) == nil)
        #expect(handles.bind(try handle(6), to: node))
    }
}
