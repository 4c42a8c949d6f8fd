import Glibc
import MewTestSupport
import Synchronization

extension ScratchDirectory {
    func fifo(_ name: String) {
        precondition(mkfifo(self(name), 0o644) == 0, "mkfifo \(name): errno \(errno)")
    }

    /// A directory whose name is these bytes.
    func rawDirectory(_ name: [UInt8]) {
        let path = Array("\(path)/".utf8) + name + [0]
        precondition(path.withUnsafeBytes { mkdir($0.assumingMemoryBound(to: CChar.self).baseAddress!, 0o755) } == 0)
    }

    /// `levels` directories `d`, one in the other, deeper than one path can say.
    func deepTree(_ start: String, levels: Int) {
        var handle = open(self(start), O_RDONLY | O_DIRECTORY)
        for _ in 0..<levels {
            precondition(mkdirat(handle, "d", 0o755) == 0, "mkdirat: errno \(errno)")
            let next = openat(handle, "d", O_RDONLY | O_DIRECTORY)
            close(handle)
            handle = next
        }
        close(handle)
    }
}

/// Makes a name a directory, a link and a directory again, over and over.
final class Swapper: Sendable {
    private let target: String
    private let link: String
    private let isEnough = Atomic(false)

    func stop() { isEnough.store(true, ordering: .releasing) }

    init(_ target: String, _ link: String) {
        self.target = target
        self.link = link
    }

    /// Swaps until it is stopped.
    func run() -> Set<String> {
        let aside = target + "-aside"
        while !isEnough.load(ordering: .acquiring) {
            let failed = rename(target, aside) + rename(link, target) + rename(target, link) + rename(aside, target)
            guard failed == 0 else { return ["the swap failed"] }
        }
        return []
    }
}
