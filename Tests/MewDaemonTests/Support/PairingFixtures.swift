import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewDaemon

/// Keys, codes and hellos for the pairing tests. Time starts at one second, so that nothing passes because it is zero.
enum Pairing {
    static let start = Instant(nanoseconds: 1_000_000_000)
    static let code = digest(7)
    static let wrongCode = digest(8)
    static let laptop = node(1)
    static let phone = node(2)
    static let stranger = node(3)

    static func node(_ number: UInt8) -> NodeID {
        NodeID(bytes: [UInt8](repeating: number, count: 32))!
    }

    static func numberedNode(_ number: Int) -> NodeID {
        NodeID(bytes: [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 0xaa, count: 30))!
    }

    static func digest(_ number: UInt8) -> PairingDigest {
        PairingDigest(bytes: [UInt8](repeating: number, count: 32))!
    }

    static func source(_ host: UInt8 = 1) -> PairingSource {
        PairingSource(.direct(SocketAddress(ipv4: 0xc000_0201 | UInt32(host) << 8, port: 9)))
    }

    static func window(
        expecting expected: NodeID? = nil, canConfirm: Bool = true, duration: Duration = .seconds(120)
    ) -> PairingWindow {
        PairingWindow(
            .init(scope: .control, code: code, expected: expected, canConfirm: canConfirm), openedAt: start,
            duration: duration)
    }

    static func hello(
        _ connection: UInt64, _ node: NodeID, code: PairingDigest? = nil, source: PairingSource = source()
    ) -> PairingWindow.Event {
        .hello(
            .init(
                connection: ConnectionNumber(connection), node: node, name: "dev\(connection)", code: code,
                digits: "00000\(connection % 10)", source: source))
    }

    static func grant(_ connection: UInt64, _ node: NodeID, _ proof: PairingWindow.Proof) -> PairingWindow.Grant {
        .init(
            connection: ConnectionNumber(connection), node: node, name: "dev\(connection)", scope: .control,
            proof: proof)
    }
}

extension Instant {
    func plus(_ duration: Duration) -> Instant { advanced(by: duration) }
}

/// Fails the test and returns nothing, for the end of a `guard`.
func fail(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record(comment, sourceLocation: sourceLocation)
}
