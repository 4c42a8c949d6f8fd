import Glibc
import MewBase
import MewIdentity
import Testing

/// A directory of its own for each test, removed at the end.
final class ScratchDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/mew-identity-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        chmod(path, 0o700)
        for name in entries { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    var entries: [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) throws {
        let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL, mode)
        try #require(file >= 0)
        #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
        fchmod(file, mode)
        close(file)
    }
}

@Suite("The key file")
struct KeyFileTests {
    let directory: ScratchDirectory
    let file: KeyFile
    let seed = [UInt8](repeating: 0x2a, count: 32)

    init() throws {
        directory = try ScratchDirectory()
        file = KeyFile(path: directory.path + "/node.key")
    }

    @Test("the first use creates it, the second finds the same key, and no temporary file remains")
    func createdOnFirstUse() throws {
        #expect(try file.loadIfPresent() == nil)
        let key = try file.loadOrCreate(entropy: SystemEntropy())
        #expect(try file.loadOrCreate(entropy: SystemEntropy()).node == key.node)
        #expect(directory.entries == ["node.key"])
        var info = stat()
        #expect(stat(file.path, &info) == 0)
        #expect(info.st_mode & 0o777 == 0o600)
        #expect(info.st_size == 32)
    }

    @Test("processes that start at once agree on one key")
    func race() async throws {
        let nodes = await withTaskGroup(of: NodeID?.self) { [file] group in
            for _ in 0..<16 {
                group.addTask { try? file.loadOrCreate(entropy: SystemEntropy()).node }
            }
            return await group.reduce(into: [NodeID?]()) { $0.append($1) }
        }
        #expect(nodes.count == 16)
        #expect(Set(nodes) == [try file.loadIfPresent()?.node])
        #expect(directory.entries == ["node.key"])
    }

    @Test("a file that others can reach is refused by its mode", arguments: [0o640, 0o604, 0o620, 0o601] as [mode_t])
    func wrongMode(mode: mode_t) throws {
        try directory.write(seed, to: "node.key", mode: mode)
        #expect(throws: KeyFileError.wrongMode(file.path, UInt16(mode))) { try file.loadIfPresent() }
    }

    @Test("stricter modes than ours are fine")
    func stricterMode() throws {
        try directory.write(seed, to: "node.key", mode: 0o400)
        #expect(try file.loadIfPresent()?.node == SecretKey(seed: seed)?.node)
    }

    @Test("a file of 31 or 33 bytes is no key, one of 32 is", arguments: [0, 31, 33, 4_096])
    func wrongLength(count: Int) throws {
        try directory.write([UInt8](repeating: 1, count: count), to: "node.key")
        #expect(throws: KeyFileError.wrongLength(file.path)) { try file.loadIfPresent() }
    }

    @Test("a directory or a pipe in its place is refused and does not hang")
    func notAFile() throws {
        mkfifo(file.path, 0o600)
        #expect(throws: KeyFileError.notAFile(file.path)) { try file.loadIfPresent() }
        #expect(throws: KeyFileError.notAFile(directory.path)) { try KeyFile(path: directory.path).loadIfPresent() }
    }

    @Test("a missing directory is named in the refusal")
    func missingDirectory() {
        let file = KeyFile(path: directory.path + "/none/node.key")
        #expect(throws: KeyFileError.unwritable(file.path, SystemCause(errno: ENOENT))) {
            try file.loadOrCreate(entropy: SystemEntropy())
        }
    }

    @Test("another user's file is refused")
    func wrongOwner() throws {
        guard geteuid() == 0 else {
            // Only root can give a file away; here one of root's does.
            #expect(throws: KeyFileError.wrongOwner("/etc/passwd")) { try KeyFile(path: "/etc/passwd").loadIfPresent() }
            return
        }
        try directory.write(seed, to: "node.key")
        try #require(chown(file.path, 65_534, 65_534) == 0)
        #expect(throws: KeyFileError.wrongOwner(file.path)) { try file.loadIfPresent() }
    }

    @Test("each refusal says what to do, and a full disk is not told to be read-only")
    func sentences() {
        #expect(
            KeyFileError.unwritable("/k", SystemCause(errno: ENOSPC)).description
                == "cannot create the key file /k: no space left on device. Free some space, then try again.")
        #expect(KeyFileError.wrongMode("/k", 0o644).description.contains("chmod 600 /k"))
        #expect(KeyFileError.wrongMode("/k", 0o644).description.contains("0644"))
        #expect(KeyFileError.unwritable("/k", SystemCause(errno: EROFS)).description.contains("read-only"))
    }
}
