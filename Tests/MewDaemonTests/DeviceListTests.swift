import MewIdentity
import MewWire
import Testing

@testable import MewDaemon

@Suite("Device list")
struct DeviceListTests {
    private func device(
        _ node: NodeID, pairedAt: UInt64 = 1, revokedAt: UInt64? = nil, code: PairingDigest? = nil
    ) -> Device {
        Device(
            node: node, name: "phone", scope: .control, pairedAtMs: pairedAt, revokedAtMs: revokedAt, spentCode: code)
    }

    @Test("a key is a stranger, paired or revoked, and nothing in between")
    func standing() {
        let list = DeviceList([device(Pairing.phone), device(Pairing.laptop, revokedAt: 9)])
        guard case .paired(let found) = list.standing(of: Pairing.phone) else { return fail("not paired") }
        #expect(found.node == Pairing.phone)
        guard case .revoked(atMs: 9) = list.standing(of: Pairing.laptop) else { return fail("not revoked") }
        guard case .stranger = list.standing(of: Pairing.stranger) else { return fail("not a stranger") }
    }

    @Test("a spent code names the device that came in with it")
    func spentCode() {
        let list = DeviceList([device(Pairing.phone, code: Pairing.code), device(Pairing.laptop)])
        #expect(list.spender(of: Pairing.code) == Pairing.phone)
        #expect(list.spender(of: Pairing.wrongCode) == nil)
    }

    @Test("999 rows take one more; 1,000 give up the device revoked longest ago, and are full without one")
    func capacity() {
        var rows = (1..<1_000).map { device(Pairing.numberedNode($0)) }
        guard case .write(_, dropping: nil) = DeviceList(rows).pairing(device(Pairing.phone)) else {
            return fail("999 rows are not full")
        }
        rows.append(device(Pairing.numberedNode(1_000)))
        guard case .full = DeviceList(rows).pairing(device(Pairing.phone)) else {
            return fail("1,000 devices that may enter must stay")
        }
        rows[3].revokedAtMs = 20
        rows[7].revokedAtMs = 10
        guard case .write(_, let dropped) = DeviceList(rows).pairing(device(Pairing.phone)) else {
            return fail("a revoked one gives way")
        }
        #expect(dropped?.node == Pairing.numberedNode(8))
    }

    @Test("pairing a revoked key again lets it in with the new scope, and one row stays")
    func pairingAgain() {
        var list = DeviceList([device(Pairing.phone, revokedAt: 5)])
        list.apply(
            Device(node: Pairing.phone, name: "again", scope: .observe, pairedAtMs: 6, spentCode: Pairing.code))
        guard case .paired(let found) = list.standing(of: Pairing.phone) else { return fail("not paired") }
        #expect(found.scope == .observe)
        #expect(list.devices.count == 1)
    }
}
