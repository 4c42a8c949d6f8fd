import Glibc
import MewTestSupport
import Testing

/// Runs one parser over many mutated inputs and reports which share of them got how far, so that a run that bounces off the
/// first check is seen to prove nothing. Memory must not grow from the first tenth to the last.
///
/// For the body of an exit test: the process is the run's own, so its memory is nobody else's, and what it says goes to
/// stderr, which the test observes and `show` prints. A broken law ends the process at once, unsuccessfully.
struct HostileRun {
    let name: String
    /// At least 100,000 for each parser; where each is a whole connection, as many by five runs with seeds of their own.
    var inputs = 100_000

    /// - Parameter stages: what `parse` may answer. Each is reported, and each must be reached by some input.
    func run(
        corpus: [[UInt8]], seed: UInt64, stages: [String], _ parse: (inout SplitMix64, [UInt8]) throws -> String
    ) throws {
        var random = SplitMix64(state: seed)
        var reached: [String: Int] = [:]
        var firstTenth = 0
        for number in 0..<inputs {
            let input = Mutations.mutate(corpus, &random)
            reached[try parse(&random, input), default: 0] += 1
            if number == inputs / 10 { firstTenth = Self.residentBytes }
        }
        let lastTenth = Self.residentBytes
        Self.say(report(reached, seed, stages) + "; memory \(firstTenth >> 10) → \(lastTenth >> 10) KiB")
        Self.require(Set(reached.keys).isSubset(of: stages), "\(name): a stage that is not in the report")
        for stage in stages {
            Self.require(reached[stage, default: 0] > 0, "\(name): no input reached \"\(stage)\"")
        }
        Self.require(firstTenth > 0 && lastTenth <= firstTenth * 105 / 100, "\(name): memory grew")
    }

    private func report(_ reached: [String: Int], _ seed: UInt64, _ stages: [String]) -> String {
        let shares = stages.map { stage in
            let permille = reached[stage, default: 0] * 1_000 / inputs
            return "\(stage) \(permille / 10).\(permille % 10) %"
        }
        return "\(name): \(inputs) inputs, seed \(seed): \(shares.joined(separator: ", "))"
    }

    /// A law of the run. Cheaper than `#expect`, which would look into the expression a hundred thousand times.
    static func require(_ holds: Bool, _ law: @autoclosure () -> String) {
        guard !holds else { return }
        say(law())
        exit(EXIT_FAILURE)
    }

    private static func say(_ text: String) {
        let line = Array((text + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }

    /// What the run said, for the log of the tests.
    static func show(_ result: ExitTest.Result?) {
        print(String(decoding: result?.standardErrorContent ?? [], as: UTF8.self), terminator: "")
    }

    private static var residentBytes: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        let fields = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (fields.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4_096
    }
}

/// Damages valid inputs the way protocols get damaged: flipped bits, odd lengths, cuts, repeats, splices.
enum Mutations {
    private static let oddBytes: [UInt8] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, 0x7d, 0x7e, 0x22, 0x5c, 0x0a]
    /// One input in this many stays valid, so that the run also passes through what follows a success.
    private static let untouchedIn = 8
    static let maxBytes = 1 << 16

    static func mutate(_ corpus: [[UInt8]], _ random: inout SplitMix64) -> [UInt8] {
        var bytes = corpus[Int.random(in: corpus.indices, using: &random)]
        guard Int.random(in: 0..<untouchedIn, using: &random) > 0 else { return bytes }
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            mutate(&bytes, corpus, &random)
        }
        return Array(bytes.prefix(maxBytes))
    }

    private static func mutate(_ bytes: inout [UInt8], _ corpus: [[UInt8]], _ random: inout SplitMix64) {
        guard !bytes.isEmpty else {
            bytes = corpus[0]
            return
        }
        let at = Int.random(in: bytes.indices, using: &random)
        let length = Int.random(in: 1...min(16, bytes.count - at), using: &random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[at] = oddBytes[Int.random(in: oddBytes.indices, using: &random)]
        case 2: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 3: bytes.removeSubrange(at..<at + length)
        case 4: bytes.insert(contentsOf: bytes[at..<at + length], at: at)
        case 5: bytes.removeSubrange(at...)
        case 6: bytes.insert(oddBytes[Int.random(in: oddBytes.indices, using: &random)], at: at)
        default:
            let other = corpus[Int.random(in: corpus.indices, using: &random)]
            bytes = bytes[..<at] + other.suffix(Int.random(in: 0...other.count, using: &random))
        }
    }

    /// The input in pieces of random sizes.
    static func pieces(_ bytes: [UInt8], _ random: inout SplitMix64) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let size = Int.random(in: 1...max(1, min(rest.count, 64)), using: &random)
            pieces.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return pieces
    }
}
