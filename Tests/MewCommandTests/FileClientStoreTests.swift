import Glibc
import MewBase
import MewClient
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import mew

@Suite("The client records of a state directory")
struct FileClientStoreTests {
    private let home = ScratchDirectory()
    private let daemon = SecretKey.generate(entropy: SystemEntropy()).node

    private func store(_ loop: BlockingLoop) throws -> FileClientStore {
        FileClientStore(directory: try PrivateDirectory(creating: home.path), loop: loop)
    }

    @Test("processes that write at once lose nothing, and no operation ID is used twice")
    func severalProcesses() async throws {
        // A store and a loop of its own each: what two processes share is the directory.
        let loops = try (0..<4).map { try BlockingLoop(name: "process-\($0)") }
        defer { for loop in loops { loop.stop() } }
        let daemon = daemon
        let made = try await withThrowingTaskGroup(of: [OperationID].self) { group in
            for loop in loops {
                let store = try store(loop)
                group.addTask {
                    var ids: [OperationID] = []
                    for _ in 0..<10 {
                        let operation = try await store.update { records in
                            records.begin(
                                .prompt, at: daemon, session: nil, wall: .now, entropy: SystemEntropy())
                        }
                        ids.append(try #require(operation).id)
                    }
                    return ids
                }
            }
            return try await group.reduce(into: [[OperationID]]()) { $0.append($1) }
        }
        for ids in made { #expect(ids == ids.sorted(), "each process only goes up") }
        let kept = try await store(loops[0]).records().operations.map(\.id)
        #expect(kept == kept.sorted(), "and so do all of them together")
        #expect(Set(kept) == Set(made.joined()) && kept.count == 40)
    }

    @Test(
        "a directory in the place of a file is told as one, and not as a full disk",
        arguments: ["client.json", "client.lock"])
    func directories(name: String) async throws {
        let loop = try BlockingLoop(name: "store")
        defer { loop.stop() }
        let store = try store(loop)
        let path = home.directory(name)
        await #expect(throws: ClientStoreError.notAFile(path: path)) { try await store.rehearse() }
        let failure = CommandFailure(ClientStoreError.notAFile(path: path), doing: "read the list of daemons")
        #expect(failure.message == "could not read the list of daemons: \(path) is a directory, and has to be a file")
        #expect(failure.hint == "Move it away.")
    }

    @Test("a change that throws keeps nothing")
    func throwing() async throws {
        let loop = try BlockingLoop(name: "store")
        defer { loop.stop() }
        let store = try store(loop)
        let daemon = daemon
        await #expect(throws: ClientStoreError.tooManyOperations) {
            try await store.update { records throws(ClientStoreError) in
                _ = records.begin(.prompt, at: daemon, session: nil, wall: .now, entropy: SystemEntropy())
                throw .tooManyOperations
            }
        }
        #expect(try await store.records() == ClientRecords())
    }

    @Test("a damaged file and one of a newer version are refused, and left as they are")
    func damaged() async throws {
        let loop = try BlockingLoop(name: "store")
        defer { loop.stop() }
        let store = try store(loop)
        for text in ["{\"format\":", "{\"format\":99,\"daemons\":[],\"operations\":[]}"] {
            let path = home.file("client.json", text)
            await #expect(throws: ClientStoreError.self) { try await store.update { _ in } }
            let error = await #expect(throws: ClientStoreError.self) { try await store.records() }
            #expect(error?.description.contains(path) == true)
            let bytes = try PrivateDirectory(creating: home.path).read("client.json", maxBytes: 1_000)
            #expect(bytes == Array(text.utf8))
        }
    }

    @Test("a program that runs is known as running, and not one that had its number before")
    func instances() async throws {
        let loop = try BlockingLoop(name: "store")
        defer { loop.stop() }
        let (store, again) = (try store(loop), try store(loop))
        #expect(store.isRunning(store.instance))
        #expect(!store.isRunning(again.instance), "this process has opened the directory anew since")
        let parent = try #require(ProcessIdentity(now: getppid()))
        func instance(_ number: Int32, _ ticks: UInt64, _ boot: String) -> ClientInstance {
            ClientInstance("\(number) \(ticks) \(boot) nonce")
        }
        #expect(store.isRunning(instance(parent.number, parent.startTicks, parent.bootID)))
        #expect(!store.isRunning(instance(parent.number, parent.startTicks + 1, parent.bootID)))
        #expect(!store.isRunning(instance(parent.number, parent.startTicks, "another-boot")))
        #expect(!store.isRunning(ClientInstance("whatever")))
    }

    @Test("a lock that is held is waited for")
    func locked() async throws {
        let loop = try BlockingLoop(name: "store")
        defer { loop.stop() }
        let store = try store(loop)
        var lock: FileLock? = try PrivateDirectory(creating: home.path).lock("client.lock", waiting: false)
        async let changed: Void = store.update { _ in }
        withExtendedLifetime(lock) {}
        lock = nil
        try await changed
    }
}
