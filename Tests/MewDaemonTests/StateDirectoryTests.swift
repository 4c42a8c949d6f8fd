import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

@Suite("State directory")
struct StateDirectoryTests {
    @Test("a second daemon is refused while the first lives, with the sentence and the code")
    func locked() throws {
        let scratch = ScratchDirectory()
        let directory = try StateDirectory.open(scratch.path)
        let lock = try directory.lockListener()
        #expect {
            try StateDirectory.open(scratch.path).lockListener()
        } throws: { error in
            guard let failure = error as? StartFailure else { return false }
            return failure.code == .directoryLocked && failure.description.contains("another mew daemon is using it")
        }
        withExtendedLifetime(lock) {}
    }

    @Test("the same directory gives the same key at every start")
    func key() throws {
        let scratch = ScratchDirectory()
        let first = try StateDirectory.open(scratch.path).nodeKey()
        let second = try StateDirectory.open(scratch.path).nodeKey()
        #expect(first.node == second.node)
    }

    @Test(
        "what a daemon left and is gone is named, with how to go on; a first start and a client's directory miss nothing"
    )
    func missing() throws {
        let scratch = ScratchDirectory()
        let directory = try StateDirectory.open(scratch.path)
        func put(_ name: String, _ bytes: [UInt8]) throws {
            try directory.files.write(bytes, to: name, entropy: SystemEntropy())
        }
        typealias Name = StateDirectory.Name
        #expect(MissingFile.all(in: directory) == [])
        _ = try directory.nodeKey()
        try put(Name.clientRecords, [1])
        #expect(MissingFile.all(in: directory) == [])
        try put(Name.port, [0x31])
        #expect(MissingFile.all(in: directory) == [.database])
        try put(Name.database, [])
        #expect(MissingFile.all(in: directory) == [.database])
        try put(Name.database, [1])
        #expect(MissingFile.all(in: directory) == [])
        try directory.files.remove(Name.key)
        try directory.files.remove(Name.port)
        #expect(MissingFile.all(in: directory) == [.key])
        let warning = MissingFile.database.warning(in: directory)
        #expect(warning.hasPrefix("\(directory.path(Name.database)) is missing or empty, though a daemon has run here"))
        #expect(warning.hasSuffix("pair your devices again (mew pair)."))
    }

    @Test("a directory that cannot be made is read-only, and says what to do")
    func readOnly() {
        #expect {
            try StateDirectory.open("/proc/mew")
        } throws: { error in
            guard let failure = error as? StartFailure else { return false }
            return failure.code == .directoryReadOnly && failure.hint.contains("--home")
        }
    }

    @Test(
        "each trouble of the disk has its code",
        arguments: [(28, ErrorCode.notSaved), (122, .notSaved), (30, .directoryReadOnly), (13, .directoryReadOnly)]
            as [(Int32, ErrorCode)])
    func codes(errno: Int32, code: ErrorCode) {
        #expect(StartFailure("/x", SystemError(errno: errno, doing: "writing")).code == code)
    }
}

@Suite("Listen port")
struct ListenPortTests {
    @Test("addresses the user named are the only attempt")
    func given() {
        let address = SocketAddress.loopback(port: 7)
        #expect(
            ListenPort(given: [address], kept: 12_345).attempts(entropy: SystemEntropy()) == [
                .fixed([address])
            ])
    }

    @Test("the kept port comes first, then sixteen random ones below the range of outgoing sockets")
    func kept() {
        let attempts = ListenPort(given: [], kept: 12_345).attempts(entropy: SystemEntropy())
        #expect(attempts.count == 17)
        #expect(attempts.first == .wildcard(port: 12_345, isKept: true))
        for attempt in attempts.dropFirst() {
            guard case .wildcard(let port, isKept: false) = attempt else { return fail("\(attempt)") }
            #expect((10_000...32_767).contains(port))
        }
        #expect(ListenPort(given: [], kept: nil).attempts(entropy: SystemEntropy()).count == 16)
    }

    @Test("the port is read back; anything else in the file counts as none")
    func file() {
        #expect(ListenPort.parse(ListenPort.stored(65_535)) == 65_535)
        for text in ["", "\n", "0", "65536", "99999", "-1", "+1", "1 ", "x", "123456"] {
            #expect(ListenPort.parse(Array(text.utf8)) == nil)
        }
    }
}
