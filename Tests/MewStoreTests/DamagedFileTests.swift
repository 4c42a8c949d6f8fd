import CSQLite
import Glibc
import MewBase
import MewLoop
import MewSession
import MewStore
import MewTestSupport
import MewWire
import Testing

/// What happens to the database's file from outside: while the store is open, and while it is not.
@Suite("a file that is taken away, replaced or damaged")
struct DamagedFileTests {
    private func withDirectory(_ body: (ScratchDirectory, EventLoop) async throws -> Void) async throws {
        let directory = ScratchDirectory()
        let loop = try BlockingLoop(name: "file-test")
        defer { loop.stop() }
        try await body(directory, loop)
    }

    private static let takeaways: [(String, String)] = [
        ("state", "the whole directory"), ("state/mew.db", "the database"), ("state/mew.db-wal", "its log"),
    ]

    @Test(
        "what is taken away under an open store is noticed before anything is acknowledged; put back, it goes on",
        arguments: takeaways)
    func takenAway(_ what: (path: String, name: String)) async throws {
        try await withDirectory { directory, loop in
            directory.directory("state")
            let store = try await SQLiteStore.open(path: directory("state/mew.db"), on: loop)
            try await store.commit([Fixture.row(Fixture.session)])
            #expect(rename(directory(what.path), directory("elsewhere")) == 0)
            await #expect(throws: StoreError.self) { try await store.commit([Fixture.event(1)]) }
            let state = await store.saving()
            #expect(!state.isSaving)
            #expect(state.reason?.contains("was removed or replaced") == true)
            #expect(rename(directory("elsewhere"), directory(what.path)) == 0)
            #expect(await store.savingChanged(from: state).isSaving)
            try await store.commit([Fixture.event(1)])
            await store.close()
        }
    }

    @Test("a file with the same name and content is not the same file")
    func replaced() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            let store = try await SQLiteStore.open(path: path, on: loop)
            try await store.commit([Fixture.row(Fixture.session)])
            let bytes = try Self.content(of: path)
            #expect(unlink(path) == 0)
            directory.file("mew.db")
            try Self.write(bytes, to: path)
            await #expect(throws: StoreError.self) { try await store.commit([Fixture.event(1)]) }
            await store.close()
        }
    }

    // MARK: - Damage

    /// A closed database with twenty devices in it, and one session with fifty events.
    private func makeDatabase(_ path: String, on loop: EventLoop) async throws {
        let store = try await SQLiteStore.open(path: path, on: loop)
        try await store.commit([Fixture.row(Fixture.session)])
        try await store.commit((1...50).map { Fixture.event($0, body: String(repeating: "x", count: 3_000)) })
        for number in UInt8(0)..<20 {
            try await store.commit([.putDevice(Self.device(number))])
        }
        await store.close()
    }

    private static func device(_ number: UInt8) -> DeviceRow {
        DeviceRow(
            node: Fixture.node(number), name: "device", scope: .control, pairedAt: WallTime(milliseconds: 1),
            revokedAt: nil, spentToken: nil)
    }

    @Test(
        "a damaged definition of one table costs that table: the devices and the sessions are still known",
        arguments: ["messages", "receipts", "work"])
    func damagedDefinition(_ table: String) async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            try await makeDatabase(path, on: loop)
            var bytes = try Self.content(of: path)
            let definition = try #require(Self.position(of: "CREATE TABLE \(table)", in: bytes))
            bytes[definition + 1] = 0xff
            try Self.write(bytes, to: path)
            let again = try await SQLiteStore.open(path: path, on: loop)
            #expect(try await again.devices().count == 20)
            #expect(try await again.load(Fixture.session, limits: Fixture.everything)?.events.count == 50)
            await again.close()
        }
    }

    @Test("a file that was cut off costs what stood behind the cut")
    func cutOff() async throws {
        try await withDirectory { directory, loop in
            let path = directory("mew.db")
            try await makeDatabase(path, on: loop)
            let bytes = try Self.content(of: path)
            try Self.write(Array(bytes[..<(bytes.count / 4_096 * 3 / 4 * 4_096)]), to: path)
            let again = try await SQLiteStore.open(path: path, on: loop)
            #expect(try await again.sessions().map(\.id) == [Fixture.session])
            let events = try #require(try await again.load(Fixture.session, limits: Fixture.everything)).events.count
            #expect((5..<50).contains(events))
            await again.close()
        }
    }

    // MARK: - Bytes

    private static func content(of path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        var info = stat()
        try #require(fstat(file, &info) == 0)
        var bytes = [UInt8](repeating: 0, count: Int(info.st_size))
        try #require(read(file, &bytes, bytes.count) == bytes.count)
        return bytes
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_TRUNC)
        defer { close(file) }
        try #require(Glibc.write(file, bytes, bytes.count) == bytes.count)
    }

    private static func position(of text: String, in bytes: [UInt8]) -> Int? {
        let text = Array(text.utf8)
        return bytes.indices.first { bytes[$0...].starts(with: text) }
    }
}
