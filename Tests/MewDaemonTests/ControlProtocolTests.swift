import MewIdentity
import MewWire
import Testing

@testable import MewDaemon

@Suite("Control protocol")
struct ControlProtocolTests {
    private static let requests: [ControlRequest] = [
        .pair(
            .init(
                scope: .observe, codeDigest: [UInt8](repeating: 3, count: 32), expected: Pairing.phone,
                canConfirm: true, seconds: 120)),
        .pair(
            .init(
                scope: .control, codeDigest: [UInt8](repeating: 3, count: 32), expected: nil, canConfirm: false,
                seconds: 3_600)),
        .confirm(KnockNumber(3)), .refuse(KnockNumber(4)), .peers, .rename(Pairing.phone, to: "new name"),
        .setScope(Pairing.phone, .collaborate), .revoke(Pairing.phone), .revokeAll, .status, .shutdown,
    ]

    private static let events: [PairingEvent] = [
        .knock(KnockNumber(1), Pairing.phone, name: "Ada's phone", digits: "012345"),
        .knock(KnockNumber(2), Pairing.phone, name: nil, digits: nil), .knockLeft(KnockNumber(2)),
        .turnedAway(Pairing.stranger, reason: "nobody_to_confirm"), .wrongCode(Pairing.stranger, tries: 4),
        .shutOut(Pairing.stranger), .slowed(source: "192.0.2.0/24"),
        .paired(Pairing.laptop, name: "laptop", scope: .control, proof: "code"), .notSaved(Pairing.laptop),
        .usedAgain(Pairing.stranger), .noSuchKnock(KnockNumber(9)), .expired, .closed,
    ]

    private static let link = ControlLink(
        node: Pairing.phone, name: "phone", applicationProtocol: "mew/wire/1", app: "mew 0.1", path: "direct",
        address: "192.0.2.1:9", relay: nil, sinceMs: 12, roundTripMs: 1.5, lastProofMs: 3, channels: 2)

    private static let relayed = ControlLink(
        node: Pairing.phone, name: "phone", applicationProtocol: "mew/wire/0", app: nil, path: "relay", address: nil,
        relay: "https://relay.example/", sinceMs: 12, roundTripMs: nil, lastProofMs: 3, channels: 1,
        whyNotDirect: WhyNotDirect(.otherSideDecides, text: "The phone dialled.", help: "Ask there."))

    private static let damage = StoreDamage(
        repairs: [
            ControlRepair(
                setAside: "/x/sessions.db.damaged-1", isTotalLoss: true, knowsSessions: false, knowsDevices: true)
        ],
        losses: [
            ControlLoss(session: "sess_1", title: "Fix it", isReadable: true, messages: 1, events: 2, requests: 3),
            ControlLoss(session: "sess_2", title: nil, isReadable: false, messages: 0, events: 0, requests: 0),
        ],
        sessionsGone: 4)

    private static let replies: [ControlReply] =
        events.map(ControlReply.event) + [
            .done, .refused(ControlError(code: "busy", message: "a window is open already")),
            .peers([
                ControlPeer(
                    node: Pairing.phone, name: "phone", scope: .observe, pairedAtMs: 5, revokedAtMs: 6, connections: 0),
                ControlPeer(
                    node: Pairing.laptop, name: "laptop", scope: .control, pairedAtMs: 5, revokedAtMs: nil,
                    connections: 2),
            ]),
            .revoked(connections: 2),
            .window(
                ControlWindow(
                    node: Pairing.laptop, name: "desk", secondsLeft: 120, addresses: ["192.0.2.1:9"],
                    relays: ["https://a.test/", "https://b.test/"], tokenRelays: ["https://b.test/"])),
            .status(
                ControlStatus(
                    node: Pairing.laptop, name: "desk", version: "0.1.0", upMs: 9, addresses: ["[2001:db8::1]:9"],
                    relays: [], links: [link, relayed], sessions: 3, runningSessions: 1, pairedDevices: 2,
                    windowSecondsLeft: 60, isSaving: false, notSavingReason: "the disk is full",
                    damage: damage)),
        ]

    @Test("every request reads back as it was written", arguments: requests)
    func requestsRoundTrip(request: ControlRequest) throws {
        #expect(try ControlRequest(JSON(parsing: request.json.utf8)) == request)
    }

    @Test("every reply reads back as it was written", arguments: replies)
    func repliesRoundTrip(reply: ControlReply) throws {
        #expect(try ControlReply(JSON(parsing: reply.json.utf8)) == reply)
    }

    @Test("an event of a newer daemon is skipped, a request of a newer client refused by name")
    func fromTheFuture() throws {
        #expect(try ControlReply(["event": "danced", "with": 3]) == nil)
        #expect {
            try ControlRequest(["mew_control": 1, "do": "dance"])
        } throws: { ($0 as? ControlError)?.code == "unknown_type" }
        #expect {
            try ControlRequest(["mew_control": 2, "do": "peers"])
        } throws: { ($0 as? ControlError)?.code == "unknown_version" }
    }

    @Test("a window lasts from 1 s to 3,600 s", arguments: [0, 1, 3_600, 3_601])
    func windowDuration(seconds: Int64) throws {
        let request = ControlRequest.pair(
            .init(
                scope: .control, codeDigest: [UInt8](repeating: 3, count: 32), expected: nil, canConfirm: false,
                seconds: seconds))
        let isLegal = (1...3_600).contains(seconds)
        #expect((try? ControlRequest(request.json)) == (isLegal ? request : nil))
    }

    @Test("a wrong field is named", arguments: ["node_id", "scope", "code_sha256", "knock"])
    func wrongFieldsAreNamed(field: String) {
        for request in Self.requests {
            guard var object = request.json.asObject, object[field] != nil else { continue }
            object[field] = .string("?")
            #expect {
                try ControlRequest(.object(object))
            } throws: { ($0 as? ControlError)?.message.contains(field) == true }
        }
    }
}
