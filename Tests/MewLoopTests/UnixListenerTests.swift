import Glibc
import MewBase
import MewLoop
import Testing

@Suite("Unix sockets", .timeLimit(.minutes(10)))
struct UnixListenerTests {
    @Test("whoever connects gets what the listener accepts, and knows the other's process")
    func connect() async throws {
        try await inTemporaryDirectory { directory in
            try await withLoop { loop in
                let listener = try UnixListener(at: "\(directory)/s", on: loop)
                let client = try StreamSocket.connect(to: "\(directory)/s", on: loop)
                let server = try #require(await listener.accept())
                try await client.write(Array("hello\n".utf8))
                #expect(try await server.readLine(maxBytes: 10) == Array("hello".utf8))
                try await server.write(Array("back\n".utf8))
                #expect(try await client.readLine(maxBytes: 10) == Array("back".utf8))
                #expect(server.peer?.process == getpid())
                #expect(server.peer?.user == geteuid())
                #expect(client.peer?.isTrusted == true)
                await listener.close()
                await client.close()
                await server.close()
            }
        }
    }

    @Test("only the owner may open the file, from its first moment")
    func mode() async throws {
        try await inTemporaryDirectory { directory in
            try await withLoop { loop in
                let listener = try UnixListener(at: "\(directory)/s", on: loop)
                var info = stat()
                #expect(lstat("\(directory)/s", &info) == 0)
                #expect(info.st_mode & 0o7777 == 0o600)
                await listener.close()
                #expect(lstat("\(directory)/s", &info) == -1)
            }
        }
    }

    @Test("a second listener is refused while the first one lives, and takes over when it is gone")
    func taken() async throws {
        try await inTemporaryDirectory { directory in
            try await withLoop { loop in
                let path = "\(directory)/s"
                do {
                    let first = try UnixListener(at: path, on: loop)
                    let error = #expect(throws: SystemError.self) { try UnixListener(at: path, on: loop) }
                    #expect(error?.kind == .busy)
                    _ = first
                }
                // The first one was dropped without closing, as a killed process would: its file is still there.
                #expect(access(path, F_OK) == 0)
                let second = try UnixListener(at: path, on: loop)
                _ = try StreamSocket.connect(to: path, on: loop)
                await second.close()
            }
        }
    }

    @Test("a file that is no socket is left alone")
    func notASocket() async throws {
        try await inTemporaryDirectory { directory in
            try await withLoop { loop in
                let path = "\(directory)/s"
                close(open(path, O_CREAT | O_WRONLY, 0o600))
                let error = #expect(throws: SystemError.self) { try UnixListener(at: path, on: loop) }
                #expect(error?.kind == .alreadyExists)
                #expect(access(path, F_OK) == 0)
            }
        }
    }

    @Test("a listener that was replaced does not remove its successor's file")
    func replaced() async throws {
        try await inTemporaryDirectory { directory in
            try await withLoop { loop in
                let path = "\(directory)/s"
                let first = try UnixListener(at: path, on: loop)
                unlink(path)
                let second = try UnixListener(at: path, on: loop)
                await first.close()
                #expect(access(path, F_OK) == 0)
                await second.close()
            }
        }
    }

    @Test("paths longer than a socket name are fine")
    func longPath() async throws {
        try await inTemporaryDirectory { directory in
            try await withLoop { loop in
                let deep = "\(directory)/\(String(repeating: "d", count: 200))"
                #expect(mkdir(deep, 0o700) == 0)
                let listener = try UnixListener(at: "\(deep)/control", on: loop)
                let client = try StreamSocket.connect(to: "\(deep)/control", on: loop)
                #expect(await listener.accept() != nil)
                await client.close()
                await listener.close()
                #expect(rmdir(deep) == 0)
            }
        }
    }

    @Test("nobody there is told apart from nobody listening")
    func refused() async throws {
        try await inTemporaryDirectory { directory in
            try await withLoop { loop in
                let missing = #expect(throws: SystemError.self) {
                    try StreamSocket.connect(to: "\(directory)/s", on: loop)
                }
                #expect(missing?.kind == .notFound)
                _ = try UnixListener(at: "\(directory)/s", on: loop)
                let dead = #expect(throws: SystemError.self) {
                    try StreamSocket.connect(to: "\(directory)/s", on: loop)
                }
                #expect(dead?.kind == .connectionRefused)
            }
        }
    }

    @Test("accepting ends when the listener is closed or the task is cancelled")
    func acceptEnds() async throws {
        try await inTemporaryDirectory { directory in
            try await withLoop { loop in
                let listener = try UnixListener(at: "\(directory)/s", on: loop)
                let first = loop.spawn { await listener.accept() }
                for _ in 0..<10 { try await loop.run {} }
                first.cancel()
                #expect(await first.value == nil)
                let second = loop.spawn { await listener.accept() }
                for _ in 0..<10 { try await loop.run {} }
                await listener.close()
                #expect(await second.value == nil)
            }
        }
    }
}

/// Runs `body` with the path of an empty directory that is removed afterwards, if it was left empty but for sockets.
func inTemporaryDirectory<Result: Sendable>(_ body: @Sendable (String) async throws -> Result) async throws -> Result {
    var template = Array("/tmp/mew-loop-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError(errno: errno, doing: "making a directory") }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer {
        unlink("\(path)/s")
        rmdir(path)
    }
    return try await body(path)
}
