import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewStore
import MewTestSupport
import MewWire

/// A store on a disk that forgets, and the pieces its tests put into it.
struct Fixture {
    let disk: ForgetfulDisk
    let loop: EventLoop

    init(_ label: String) throws {
        disk = ForgetfulDisk(label: label)
        loop = try BlockingLoop(name: "store-test")
    }

    func open() async throws(StoreError) -> SQLiteStore {
        try await SQLiteStore.open(path: "/mew.db", on: loop, vfs: disk.name)
    }

    func end() { loop.stop() }

    static let session = SessionID("sess_01K4SJKHR00000000000SESS01")!
    static let other = SessionID("sess_01K4SJKHR00000000000SESS02")!
    static let device = node(7)

    static func node(_ number: UInt8) -> NodeID { NodeID(bytes: [UInt8](repeating: number, count: 32))! }
    static let everything = LoadLimits(events: 100_000, eventBytes: 1 << 30, messages: 1_000, messageBytes: 1 << 30)

    static func row(_ id: SessionID, _ body: String = "{}", isBusy: Bool = false) -> StoreWrite {
        .putSession(SessionRow(id: id, body: Array(body.utf8), isBusy: isBusy))
    }

    static func event(_ number: UInt64, of id: SessionID = session, body: String? = nil) -> StoreWrite {
        .appendEvent(
            id, EventRow(sequence: SequenceNumber(number), body: Array((body ?? "event \(number)").utf8)))
    }

    static func message(_ position: UInt64, _ body: String, of id: SessionID = session) -> StoreWrite {
        .putMessage(
            id, MessageRow(position: position, sequence: SequenceNumber(position), body: Array(body.utf8)))
    }

    static func operation(_ number: UInt64) -> OperationID { OperationID(ULID(high: 1, low: number)) }

    static func receipt(_ number: UInt64, staysWith session: SessionID? = nil, at: Int64 = 0) -> StoreWrite {
        .putReceipt(
            ReceiptRow(
                device: device, operation: operation(number), staysWithSession: session,
                at: WallTime(milliseconds: at), content: [1, 2, 3], body: Array("receipt \(number)".utf8)))
    }
}
