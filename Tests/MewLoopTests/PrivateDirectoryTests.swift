import MewBase
import MewLoop
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Names of temporary files only have to differ.
private struct CountingEntropy: Entropy {
    func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: index) }
    }
}

@Suite("Private directory")
struct PrivateDirectoryTests {
    /// A new place under /tmp; removed with everything in it.
    private static func withPlace(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/mew-private-XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        let place = String(cString: made)
        defer {
            for path in [place + "/a/b/file", place + "/a/b/lock", place + "/a/b", place + "/a", place] { remove(path) }
        }
        try body(place)
    }

    private static func mode(_ path: String) -> mode_t {
        var info = stat()
        return stat(path, &info) == 0 ? info.st_mode & 0o777 : 0
    }

    @Test("the directory and its files belong to their owner alone, whatever stood there before")
    func modes() throws {
        try Self.withPlace { place in
            let directory = try PrivateDirectory(creating: place + "/a/b")
            #expect(Self.mode(place + "/a/b") == 0o700)
            try directory.write([1], to: "file", entropy: CountingEntropy())
            #expect(Self.mode(place + "/a/b/file") == 0o600)
            chmod(place + "/a/b", 0o755)
            _ = try PrivateDirectory(creating: place + "/a/b", ours: ["none", "file"])
            #expect(Self.mode(place + "/a/b") == 0o700)
        }
    }

    @Test("an open directory that holds other things is refused and left as it is; an empty one is taken")
    func foreignDirectory() throws {
        try Self.withPlace { place in
            let directory = try PrivateDirectory(creating: place + "/a")
            chmod(directory.path, 0o755)
            _ = try PrivateDirectory(creating: directory.path, ours: ["mine"])
            #expect(Self.mode(directory.path) == 0o700)
            try directory.write([1], to: "theirs", entropy: CountingEntropy())
            _ = try PrivateDirectory(creating: directory.path, ours: ["mine"])
            chmod(directory.path, 0o701)
            #expect {
                try PrivateDirectory(creating: directory.path, ours: ["mine"])
            } throws: { ($0 as? SystemError)?.errno == ENOTEMPTY }
            #expect(Self.mode(directory.path) == 0o701)
        }
    }

    @Test("a file in its place is refused and keeps its mode")
    func fileInPlace() throws {
        try Self.withPlace { place in
            try PrivateDirectory(creating: place + "/a").write([1], to: "file", entropy: CountingEntropy())
            chmod(place + "/a/file", 0o644)
            #expect {
                try PrivateDirectory(creating: place + "/a/file")
            } throws: { ($0 as? SystemError)?.kind == .notADirectory }
            #expect(Self.mode(place + "/a/file") == 0o644)
        }
    }

    @Test("a file is replaced whole; one that is not there is nil; the limit holds at its last byte")
    func readAndWrite() throws {
        try Self.withPlace { place in
            let directory = try PrivateDirectory(creating: place + "/a/b")
            #expect(try directory.read("file", maxBytes: 10) == nil)
            try directory.write([UInt8](repeating: 7, count: 10_000), to: "file", entropy: CountingEntropy())
            try directory.write(Array("0123456789".utf8), to: "file", entropy: CountingEntropy())
            #expect(try directory.read("file", maxBytes: 10) == Array("0123456789".utf8))
            #expect(throws: SystemError.self) { try directory.read("file", maxBytes: 9) }
            try directory.remove("file")
            try directory.remove("file")
            #expect(try directory.read("file", maxBytes: 10) == nil)
        }
    }

    @Test("a lock is busy while somebody holds it and free afterwards")
    func lock() throws {
        try Self.withPlace { place in
            let directory = try PrivateDirectory(creating: place + "/a/b")
            var held: FileLock? = try directory.lock("lock", waiting: false)
            #expect { try directory.lock("lock", waiting: false) } throws: { ($0 as? SystemError)?.kind == .busy }
            #expect(held != nil)
            #expect(directory.lastHolder(of: "lock") == getpid())
            held = nil
            let again = try directory.lock("lock", waiting: false)
            again.release()
            again.release()
            try withExtendedLifetime(again) { _ = try directory.lock("lock", waiting: false) }
        }
    }

    @Test("a place where nothing can be made is refused and not trapped on")
    func impossiblePlace() {
        #expect(throws: SystemError.self) { try PrivateDirectory(creating: "/proc/no/such") }
    }
}
