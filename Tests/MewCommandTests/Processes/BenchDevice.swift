import Glibc
import MewLoop
import MewWire
import Synchronization
import Testing

@testable import mew

/// A device in a process of its own that does what it is told (`mew bench client`, `mew bench answer`), with what it prints as
/// objects in their order. One task reads them.
///
/// It ends with its input, so also when this process is killed.
final class BenchDevice: Sendable {
    let process: RealProcess
    /// Its directory must not go before it.
    private let machine: RealMachine
    private let keyboard: Descriptor
    private let told: ToldObjects

    /// Returns when it is connected.
    init(_ machine: RealMachine, _ words: [String] = ["client", "desk"]) async throws {
        let pipe = try Pipe()
        (self.machine, keyboard, told) = (machine, pipe.writer, ToldObjects())
        process = try machine.start(["bench"] + words, input: pipe.reader, output: told)
        try await next("ready") { $0["event"] == "ready" }
    }

    func say(_ line: String) {
        #expect(keyboard.write(Array((line + "\n").utf8)), "\(line): it reads nothing more")
    }

    /// Everything that was read so far.
    var seen: [JSON] { told.seen.withLock { $0 } }

    /// The next object that is wanted; what comes before it is only kept.
    ///
    /// - Parameter what: for the message of a test that fails.
    @discardableResult
    func next(_ what: String, where isWanted: (JSON) -> Bool) async throws -> JSON {
        for await object in told.objects {
            told.seen.withLock { $0.append(object) }
            if isWanted(object) { return object }
        }
        return try #require(nil as JSON?, "no \(what) came: \(process.err.text)")
    }

    /// The next message of this type.
    @discardableResult
    func next(type: String) async throws -> JSON {
        try await next(type) { $0["type"] == .string(type) }
    }

    /// How much was read so far. What follows from a line may be told before the line itself is: look for it from the mark before.
    var mark: Int { told.seen.withLock { $0.count } }

    /// The first message of this type after a mark.
    @discardableResult
    func find(type: String, after mark: Int) async throws -> JSON {
        try await find(type, after: mark) { $0["type"] == .string(type) }
    }

    /// Says a line and waits until it was carried out.
    ///
    /// - Returns: the operation or session it is about.
    @discardableResult
    func perform(_ line: String) async throws -> String {
        say(line)
        let word = JSON.string(String(line.prefix { $0 != " " }))
        let end = try await next(line) { $0["order"] == word }
        return try #require(end["event"] == "did" ? end["id"]?.asString : nil, "\(line): \(end.text)")
    }

    /// The first object that is wanted, which may be one of those that were read already.
    ///
    /// - Parameter mark: how many of these do not count.
    @discardableResult
    func find(_ what: String, after mark: Int = 0, where isWanted: (JSON) -> Bool) async throws -> JSON {
        if let known = seen.dropFirst(mark).first(where: isWanted) { return known }
        return try await next(what, where: isWanted)
    }

    /// How the operation ended.
    @discardableResult
    func end(of operation: String, after mark: Int = 0) async throws -> JSON {
        try await find("end of \(operation)", after: mark) {
            guard $0["event"] == "operation", $0["op_id"] == .string(operation) else { return false }
            return ["settled", "refused", "absent"].contains($0["state"]?.asString)
        }
    }

    /// What it asked so far, by its operation; settings and the like are not among it.
    var operations: [String] {
        let words = ["prompt", "guide", "cancel", "answer"]
        return seen.compactMap { object in
            object["event"] == "did" && words.contains(object["order"]?.asString ?? "") ? object["id"]?.asString : nil
        }
    }

    /// `kill -9`: it says goodbye to nobody.
    func kill() async {
        process.signal(SIGKILL)
        _ = await process.exit
    }

    /// In order.
    func end() async {
        process.signal(SIGTERM)
        _ = await process.exit
    }
}

/// The objects among the lines of a process.
private final class ToldObjects: LineTaker {
    let objects: AsyncStream<JSON>
    let seen = Mutex<[JSON]>([])
    private let arrivals: AsyncStream<JSON>.Continuation

    init() {
        (objects, arrivals) = AsyncStream.makeStream()
    }

    func write(_ text: String) {
        for line in text.split(separator: "\n") {
            if let object = try? JSON(parsing: String(line)) { arrivals.yield(object) }
        }
    }

    func end() { arrivals.finish() }
}
