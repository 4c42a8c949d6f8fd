import MewClient
import MewIdentity
import MewNode
import MewRelay
import MewTestSupport
import MewWire
import Testing

@testable import mew

@Suite("What which relay is shown, and by whom it is believed")
struct RelayUseTests {
    private let desk: NodeID
    private let laptop: NodeID

    init() throws {
        laptop = try #require(SecretKey(seed: [UInt8](repeating: 4, count: 32))).node
        desk = try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))).node
    }

    private func url(_ name: String) throws -> RelayURL { try RelayURL("https://\(name).test/") }

    private func given(
        _ relays: [String] = [], token: String? = nil, trust: String? = nil, payload: [String] = []
    ) throws -> RelayUse.Given {
        RelayUse.Given(relays: try relays.map(url), token: token, trust: trust, payload: try payload.map(url))
    }

    private func file(_ relays: [String] = [], token: String? = nil, trust: String? = nil) throws -> ConfigurationFile {
        var file = ConfigurationFile()
        (file.relays, file.relayToken, file.relayTrust) = (try relays.map(url), token, trust)
        return file
    }

    /// A daemon that tells of the relay `told`, and with which something is remembered for `remembered`.
    private func daemons() throws -> [DaemonRecord] {
        let access = RelayAccess(relay: try url("remembered").description, token: "kept", trust: "pem")
        return [
            DaemonRecord(
                node: desk, name: "desk", relays: [try url("told").description], relayAccess: [access],
                addedAt: WallTime(milliseconds: 1))
        ]
    }

    private struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var relays: [String] = []
        var payload: [String] = []
        var filed: [String] = []
        /// The relay that is asked about.
        let relay: String
        /// Of the tokens `typed`, `kept` and `filed`.
        let token: String?
        /// Of the authorities `/typed.pem`, `pem` and `/filed.pem`; nil for those that are everybody's.
        let authorities: RelayUse.Authorities?
    }

    /// Where all three places say something.
    private static let cases = [
        Case(
            testDescription: "named by the command", relays: ["x"], filed: ["f"], relay: "x", token: "typed",
            authorities: .file("/typed.pem")),
        Case(
            testDescription: "named by the command, and remembered", relays: ["remembered"], filed: ["f"],
            relay: "remembered", token: "typed", authorities: .file("/typed.pem")),
        Case(
            testDescription: "named by the command, and by config.json", relays: ["f"], filed: ["f"], relay: "f",
            token: "typed", authorities: .file("/typed.pem")),
        Case(
            testDescription: "remembered, while the command names another", relays: ["x"], filed: ["f"],
            relay: "remembered", token: "kept", authorities: .text("pem")),
        Case(
            testDescription: "named by config.json, while the command names another", relays: ["x"], filed: ["f"],
            relay: "f", token: "filed", authorities: nil),
        Case(
            testDescription: "named by config.json, while the command names none", filed: ["f"], relay: "f",
            token: "typed", authorities: .file("/typed.pem")),
        Case(
            testDescription: "remembered, and named by config.json, while the command names another", relays: ["x"],
            filed: ["remembered"], relay: "remembered", token: "kept", authorities: .text("pem")),
        Case(
            testDescription: "named by the payload alone", relays: ["x"], payload: ["p"], filed: ["f"], relay: "p",
            token: nil, authorities: .file("/typed.pem")),
        Case(
            testDescription: "told by a daemon in its reach or record", relays: ["x"], filed: ["f"], relay: "told",
            token: nil, authorities: nil),
        Case(
            testDescription: "never heard of", relays: ["x"], filed: ["f"], relay: "other", token: nil,
            authorities: nil),
    ]

    @Test(
        "the first place that is about a relay decides, and each is about the relays that stand beside it",
        arguments: cases)
    private func table(_ row: Case) throws {
        let use = try RelayUse(
            given(row.relays, token: "typed", trust: "/typed.pem", payload: row.payload),
            file: file(row.filed, token: "filed", trust: "/filed.pem"), daemons: daemons())
        let relay = try url(row.relay)
        #expect(use.token(for: relay)?.value == row.token)
        #expect(use.authorities(for: relay)?.value == row.authorities)
        #expect(use.generalAuthorities == .file("/filed.pem"))
    }

    @Test("without anything on the command line it is what is remembered, then config.json for its own relays")
    func nothingTyped() throws {
        let use = try RelayUse(given(), file: file(["f", "remembered"], token: "filed"), daemons: daemons())
        #expect(use.relays == [try url("f"), try url("remembered")])
        #expect(use.token(for: try url("f"))?.source == .configuration)
        #expect(use.token(for: try url("remembered"))?.source == .remembered(desk))
        #expect(use.authorities(for: try url("f")) == nil)
        // A relay that the command names is not thereby config.json's.
        let other = try RelayUse(given(["x"]), file: file(["f"], token: "filed"))
        #expect(other.token(for: try url("x")) == nil && other.generalAuthorities == nil)
        #expect(other.relays == [try url("x")])
    }

    @Test("a relay is the same with a pinned key and in another spelling")
    func spelling() throws {
        let use = try RelayUse(given(["x"], token: "typed"), file: file())
        let pinned = try RelayURL("https://X.test:443/#\(desk.z32)")
        #expect(use.token(for: pinned)?.value == "typed")
        #expect(use.token(for: try RelayURL("http://x.test/")) == nil)
    }

    @Test("what is for no relay is refused, in words that say what to name")
    func forNobody() throws {
        func refusal(_ given: RelayUse.Given, _ file: ConfigurationFile) -> CommandFailure? {
            #expect(throws: CommandFailure.self) { try RelayUse(given, file: file, daemons: daemons()) }
        }
        let none = try file()
        #expect(try refusal(given(token: "x"), none)?.hint == "Name the relay with --relay URL.")
        #expect(try refusal(given(trust: "/x"), none)?.hint == "Name the relay with --relay URL.")
        #expect(
            try refusal(given(token: "x", payload: ["p"]), none)?.hint
                == "If it is for that relay, add --relay https://p.test/ to the command.")
        #expect(try refusal(given(["x"]), file(token: "filed"))?.message.contains("config.json names") == true)
        // Authorities of config.json are for all relays.
        #expect(try RelayUse(given(), file: file(trust: "/filed.pem")).generalAuthorities == .file("/filed.pem"))
    }

    @Test("mew add remembers the token for the relays named beside it, authorities for those of the payload, too")
    func memory() throws {
        let (x, p) = (try url("x").description, try url("p").description)
        let use = try RelayUse(given(["x"], token: "typed", trust: "/x.pem", payload: ["p", "x"]), file: file())
        #expect(
            use.memory(trust: "pem") == [
                RelayAccess(relay: x, token: "typed", trust: "pem"), RelayAccess(relay: p, trust: "pem"),
            ])
        #expect(use.memory(trust: nil) == [RelayAccess(relay: x, token: "typed")])
        #expect(try RelayUse(given(["x"], payload: ["p"]), file: file(["f"], token: "filed")).memory(trust: nil) == [])
    }

    @Test("a relay that refuses the token is answered by where that token came from")
    func hints() throws {
        let use = try RelayUse(given(["x"], token: "typed"), file: file(["f"], token: "filed"), daemons: daemons())
        func hint(_ name: String, _ failure: DialError.RelayFailure) throws -> String? {
            use.hint(.init(url: try url(name).description, failure: failure))
        }
        #expect(try hint("x", .notAdmitted)?.hasPrefix("Check the token") == true)
        #expect(try hint("f", .notAdmitted)?.contains("relay_token in config.json") == true)
        #expect(
            try hint("remembered", .notAdmitted)?.contains(
                "mew add \(desk.z32) --relay https://remembered.test/ --relay-token TEXT") == true)
        #expect(
            try hint("remembered", .notBelieved)?.contains(
                "mew add \(desk.z32) --relay https://remembered.test/ --relay-trust FILE") == true)
        #expect(try hint("told", .notAdmitted)?.hasSuffix("Add --relay https://told.test/ to the command.") == true)
        #expect(try hint("x", .outOfReach) == nil)
    }

    @Test(
        "who is not admitted is told the node ID that whoever runs the relay has to allow", arguments: [nil, "typed"])
    func allowed(token: String?) throws {
        let use = try RelayUse(given(["x"], token: token), file: file(["f"]), device: laptop)
        for name in token == nil ? ["x", "told"] : ["x"] {
            let hint = try use.hint(.init(url: url(name).description, failure: .notAdmitted))
            #expect(hint?.hasSuffix("'mew relay --allow \(laptop.z32)'.") == true, "\(hint ?? "")")
        }
    }

    @Test("an option that is only for relays named beside it is told with the relay that it is to be for")
    func hintsNameTheRelay() throws {
        func hint(_ use: RelayUse, _ name: String, _ failure: DialError.RelayFailure) throws -> String? {
            use.hint(.init(url: try url(name).description, failure: failure))
        }
        let nothing = try RelayUse(given(["x"], payload: ["p"]), file: file())
        let told: [(String, DialError.RelayFailure, String)] = [
            ("told", .notAdmitted, "--relay https://told.test/ --relay-token TEXT"),
            ("told", .notBelieved, "--relay https://told.test/ --relay-trust FILE"),
            ("p", .notAdmitted, "--relay https://p.test/ --relay-token TEXT"),
        ]
        for (name, failure, words) in told { #expect(try hint(nothing, name, failure)?.contains(words) == true) }
        // The option alone is for these.
        #expect(
            try hint(nothing, "x", .notAdmitted)?.hasPrefix("Give the relay's token with --relay-token TEXT") == true)
        #expect(try hint(nothing, "x", .notBelieved) == nil)
        #expect(try hint(nothing, "p", .notBelieved) == nil)
        let trusting = try RelayUse(given(["x"], trust: "/x.pem"), file: file())
        #expect(try hint(trusting, "x", .notBelieved)?.contains("that the file of --relay-trust holds") == true)
        #expect(try hint(trusting, "told", .notBelieved)?.contains("Add --relay https://told.test/ to") == true)
    }

    @Test("what was remembered and is damaged costs its relay, and not the command; a new file takes its place")
    func damaged() throws {
        let remembered = try url("remembered")
        let belief = try RelayUse(given(), file: file(), daemons: daemons()).loadTrust().own(of: remembered)
        guard case .failure(.certificate)? = belief else {
            return #expect(Bool(false), "\(String(describing: belief))")
        }
        let certificate = try TestCertificate(for: "remembered.test")
        let mended = try RelayUse(
            given(["remembered"], trust: certificate.certificateFile), file: file(), daemons: daemons())
        guard case .success? = try mended.loadTrust().own(of: remembered) else {
            return #expect(Bool(false), "it is not believed by the file")
        }
    }

    @Test("authorities are taken apart once, however many relays are believed by them")
    func parsedOnce() throws {
        let certificate = try TestCertificate(for: "x.test")
        let use = try RelayUse(
            given(["x", "y"], trust: certificate.certificateFile, payload: ["p"]),
            file: file(trust: certificate.certificateFile))
        let trust = try use.loadTrust()
        let general = try #require(try trust.general?.get())
        for name in ["x", "y", "p"] { #expect(try trust.own(of: url(name))?.get() === general) }
        let output = Output(isJSON: false, standard: LineCollector(), errors: LineCollector())
        let text = use.givenAuthorities(trust, output)
        #expect(text?.hasPrefix("-----BEGIN CERTIFICATE-----") == true)
    }

    @Test("the options say to whom they apply")
    func help() {
        let token = Common.relayToken.help
        #expect(token.contains("of --relay, or else of config.json") && token.contains("no others"))
        #expect(Common.relayTrust.help.contains("just these relays"))
    }
}
