import CQuic
import Glibc
import MewTestSupport
import Testing

@testable import MewRelay

/// Two engines whose output is the other's input.
private final class EnginePair {
    let client: TLSEngine
    let server: TLSEngine
    var atClient: [UInt8] = []
    var atServer: [UInt8] = []

    init(_ certificate: TestCertificate, trusting: TestCertificate? = nil, host: String) throws {
        let identity = try TLSIdentity(certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        let trust = try TLSTrust(authoritiesFile: (trusting ?? certificate).certificateFile)
        client = try TLSEngine(client: trust, host: host)
        server = try TLSEngine(server: identity)
    }

    /// Carries bytes until nobody has any, in pieces of `pieceBytes`.
    func settle(pieceBytes: Int = 1 << 20) throws {
        while client.hasOutput || server.hasOutput {
            try carry(from: client, to: server, pieceBytes) { self.atServer += $0 }
            try carry(from: server, to: client, pieceBytes) { self.atClient += $0 }
        }
    }

    private func carry(
        from: TLSEngine, to: TLSEngine, _ pieceBytes: Int, _ deliver: (UnsafeRawBufferPointer) -> Void
    ) throws {
        var rest = from.takeOutput()[...]
        while !rest.isEmpty {
            try Array(rest.prefix(pieceBytes)).withUnsafeBytes { try to.receive($0, deliver) }
            rest = rest.dropFirst(pieceBytes)
        }
    }

    func connect(pieceBytes: Int = 1 << 20) throws {
        try client.start()
        try settle(pieceBytes: pieceBytes)
    }
}

extension TLSEngine {
    fileprivate func take(_ bytes: [UInt8]) throws(TLSFailure) {
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(TLSFailure) in try receive(bytes) { _ in } } }
        try result.get()
    }
}

@Suite("TLS without sockets")
struct TLSEngineTests {
    @Test("what answers without TLS is told apart from TLS that is broken", arguments: [1, 4096])
    func notSpoken(pieceBytes: Int) throws {
        let answers: [([UInt8], TLSFailure?)] = [
            (Array("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".utf8), .notSpoken),
            (Array("SSH-2.0-OpenSSH_9.6\r\n".utf8), .notSpoken),
            ([22, 3, 3, 0, 4, 255, 0, 0, 0], nil),
        ]
        for (answer, expected) in answers {
            let pair = try EnginePair(TestCertificate(for: "relay.test"), host: "relay.test")
            try pair.client.start()
            var failure: TLSFailure?
            for start in stride(from: 0, to: answer.count, by: pieceBytes) where failure == nil {
                do throws(TLSFailure) {
                    try pair.client.take(Array(answer[start..<min(answer.count, start + pieceBytes)]))
                } catch {
                    failure = error
                }
            }
            let found = try #require(failure)
            if let expected { #expect(found == expected) } else { #expect(found.description.hasPrefix("TLS broke")) }
        }
    }

    @Test(
        "both sides shake hands, export the same keying material, and read what the other wrote", arguments: [1, 4096])
    func exchange(pieceBytes: Int) throws {
        let pair = try EnginePair(TestCertificate(for: "relay.test"), host: "relay.test")
        try pair.connect(pieceBytes: pieceBytes)
        #expect(pair.client.isEstablished && pair.server.isEstablished)
        let material = pair.client.exportKeyingMaterial(label: "x", context: [1, 2], byteCount: 32)
        #expect(material?.count == 32)
        #expect(material == pair.server.exportKeyingMaterial(label: "x", context: [1, 2], byteCount: 32))
        #expect(material != pair.server.exportKeyingMaterial(label: "x", context: [1, 3], byteCount: 32))

        let long = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        try long.withUnsafeBytes { try pair.client.write($0) }
        try [UInt8](arrayLiteral: 9).withUnsafeBytes { try pair.server.write($0) }
        try pair.settle(pieceBytes: pieceBytes)
        #expect(pair.atServer == long)
        #expect(pair.atClient == [9])
    }

    @Test(
        "data behind a message that is none, in the same piece, is read: new keys, and tickets alike",
        arguments: [1, 1 << 20])
    func messagesBetween(pieceBytes: Int) throws {
        let pair = try EnginePair(TestCertificate(for: "relay.test"), host: "relay.test")
        try pair.connect(pieceBytes: pieceBytes)
        for number in UInt8(0)..<3 {
            for _ in 0..<2 { try #require(gnutls_session_key_update(pair.server.session, 0) == 0) }
            try [number].withUnsafeBytes { try pair.server.write($0) }
            try [number].withUnsafeBytes { try pair.client.write($0) }
        }
        try pair.settle(pieceBytes: pieceBytes)
        #expect(pair.atClient == [0, 1, 2])
        #expect(pair.atServer == [0, 1, 2])
    }

    @Test("a goodbye ends the other side's reading and leaves its writing")
    func goodbye() throws {
        let pair = try EnginePair(TestCertificate(for: "127.0.0.1"), host: "127.0.0.1")
        try pair.connect()
        pair.client.finish()
        pair.client.finish()
        try pair.settle()
        #expect(pair.server.isEnded)
        try [UInt8](arrayLiteral: 7).withUnsafeBytes { try pair.server.write($0) }
        try pair.settle()
        #expect(pair.atClient == [7])
    }

    @Test("a certificate that is unknown, for another name, or expired is refused in words")
    func refusals() throws {
        let certificate = try TestCertificate(for: "relay.test")
        let cases: [(EnginePair, String)] = [
            (
                try EnginePair(certificate, trusting: TestCertificate(for: "authority.test"), host: "relay.test"),
                "its issuer is unknown"
            ),
            (try EnginePair(certificate, host: "other.test"), "it is for another name"),
            (
                try EnginePair(TestCertificate(for: "relay.test", validSeconds: 30), host: "relay.test"),
                "it has expired"
            ),
        ]
        for (pair, word) in cases {
            let failure = #expect(throws: TLSFailure.self) { try pair.connect() }
            guard case .certificate(let words) = failure else {
                Issue.record("\(String(describing: failure)) instead of a certificate's")
                continue
            }
            #expect(words == word)
        }
    }

    @Test("all that is wrong with a certificate is one half of a sentence")
    func doubts() {
        #expect(CertificateDoubt(1 << 10 | 1 << 6 | 1 << 1).words == "it has expired, its issuer is unknown")
        #expect(CertificateDoubt(1 << 1).words == "it could not be verified")
        for flag in 5...21 {
            let words = CertificateDoubt(1 << flag).words
            #expect(words.first?.isLowercase == true && words.last?.isLetter == true && !words.contains("."))
        }
    }

    @Test("bytes that are no TLS end it, and stay its end")
    func garbage() throws {
        let pair = try EnginePair(TestCertificate(for: "relay.test"), host: "relay.test")
        let request = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        #expect(throws: TLSFailure.self) { try request.withUnsafeBytes { try pair.server.receive($0) { _ in } } }
        #expect(throws: TLSFailure.self) { try request.withUnsafeBytes { try pair.server.receive($0) { _ in } } }
        #expect(!pair.server.isEstablished)
    }

    @Test("files that do not fit or do not exist are named")
    func files() throws {
        let one = try TestCertificate(for: "a.test")
        let other = try TestCertificate(for: "a.test")
        let mismatch = #expect(throws: TLSFailure.self) {
            _ = try TLSIdentity(certificateFile: one.certificateFile, keyFile: other.keyFile)
        }
        #expect(mismatch?.description.contains("does not belong") == true)
        let missing = #expect(throws: TLSFailure.self) {
            _ = try TLSIdentity(certificateFile: one.certificateFile + "x", keyFile: one.keyFile)
        }
        #expect(missing?.description == "cannot read \(one.certificateFile)x: no such file or directory")
        #expect(throws: TLSFailure.self) { _ = try TLSTrust(authoritiesFile: one.keyFile) }
    }

    @Test("each file that cannot be used is named alone, with the reason and with what to do")
    func badFiles() throws {
        let one = try TestCertificate(for: "a.test")
        let write = { (name: String, text: String) -> String in
            let path = one.directory(name)
            let file = try #require(fopen(path, "w"))
            fputs(text, file)
            fclose(file)
            return path
        }
        let empty = try write("empty", "")
        let damaged = try write("crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        let damagedKey = try write("key", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n")
        let encrypted = try write("enc", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n")
        for (certificate, key, reason) in [
            (empty, one.keyFile, "\(empty) holds no certificate in PEM form"),
            (one.keyFile, one.keyFile, "\(one.keyFile) holds a private key, and no certificate"),
            (one.directory.path, one.keyFile, "cannot read \(one.directory.path): "),
            (damaged, one.keyFile, "a certificate in \(damaged) is damaged"),
            (one.certificateFile, empty + "x", "cannot read \(empty)x: no such file or directory"),
            (one.certificateFile, one.certificateFile, "\(one.certificateFile) holds no private key in PEM form"),
            (one.certificateFile, damagedKey, "the key in \(damagedKey) is damaged"),
            (one.certificateFile, encrypted, "the key in \(encrypted) is encrypted"),
        ] {
            let failure = #expect(throws: TLSFailure.self) {
                _ = try TLSIdentity(certificateFile: certificate, keyFile: key)
            }
            #expect(failure?.description.hasPrefix(reason) == true, "\(String(describing: failure))")
            #expect(failure?.hint?.hasSuffix(".") == true)
        }
        for (file, reason) in [(damaged, "is damaged"), (empty, "holds no certificate"), (empty + "x", "cannot read")] {
            let failure = #expect(throws: TLSFailure.self) { _ = try TLSTrust(authoritiesFile: file) }
            #expect(failure?.description.contains(reason) == true, "\(String(describing: failure))")
        }
    }

    @Test("a certificate says what hosts it is for", arguments: ["relay.test", "192.0.2.7", "*.relay.test"])
    func hosts(name: String) throws {
        let certificate = try TestCertificate(for: name)
        let identity = try TLSIdentity(
            certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        #expect(identity.hosts == [name])
    }
}
