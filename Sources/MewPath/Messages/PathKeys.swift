internal import MewBase
internal import MewIdentity

/// What the two ends of one connection sign and find their path messages by: one key and one tag for each direction, so that
/// a message that is sent back to its sender says nothing. Derived from what TLS agreed on; printed by nothing.
package struct PathKeys: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// Of the TLS exporter (RFC 8446 §7.5), with an empty context.
    package static let exporterLabel = "EXPORTER-mew-path-1"
    package static let exportedBytes = 32

    let sendKey: [UInt8]
    let receiveKey: [UInt8]
    /// Stands in what we send.
    let sendTag: LinkTag
    /// Stands in what the peer sends.
    package let receiveTag: LinkTag

    /// - Parameter secret: `exportedBytes` bytes of the exporter.
    package init(secret: [UInt8], isDialler: Bool) {
        let own = Self.direction(isDialler ? "dialler" : "listener", secret)
        let peers = Self.direction(isDialler ? "listener" : "dialler", secret)
        (sendKey, sendTag) = own
        (receiveKey, receiveTag) = peers
    }

    /// HKDF-SHA-256 without salt; the purpose is `mew/path/1 ` and who sends: 32 bytes of key, 8 of tag.
    private static func direction(_ sender: String, _ secret: [UInt8]) -> (key: [UInt8], tag: LinkTag) {
        let material = HMACSHA256.derive(
            from: secret, salt: [], info: Array("mew/path/1 \(sender)".utf8), byteCount: 32 + LinkTag.byteCount)
        return (Array(material[..<32]), LinkTag(material[32...]))
    }

    package var description: String { "‹secret›" }
    package var debugDescription: String { description }

    // MARK: - Marks of paths

    /// What the listener calls the path on which the dialler used the connection ID `id` of ours.
    package func mark(ofOwn id: [UInt8]) -> PathMark { Self.mark(id, key: sendKey) }

    /// The same seen by the dialler, whose present path uses the connection ID `id` of the peer.
    package func mark(ofPeers id: [UInt8]) -> PathMark { Self.mark(id, key: receiveKey) }

    /// The ID itself stands in no message: it would link what is seen on two paths.
    private static func mark(_ id: [UInt8], key: [UInt8]) -> PathMark {
        PathMark(HMACSHA256.tag(of: Array("path".utf8) + id, key: key)[..<PathMark.byteCount])
    }
}

/// Finds the connection a path message belongs to, before it is looked at.
package struct LinkTag: Hashable, Sendable {
    let value: UInt64

    static let byteCount = 8

    init(_ bytes: some Sequence<UInt8>) {
        value = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The tag of what may be a path message; nil when it is none. Cheap: it is asked of every packet that looks like STUN.
    package init?(of packet: UnsafeRawBufferPointer) {
        guard packet.count > StunMessage.headerBytes + 4 + Self.byteCount, packet.count <= StunMessage.maxBytes,
            UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) == StunMessage.cookie,
            UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: 20, as: UInt32.self))
                == UInt32(PathAttribute.linkTag) << 16 | UInt32(Self.byteCount)
        else { return nil }
        value = UInt64(bigEndian: packet.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
    }

    var bytes: [UInt8] { value.bigEndianBytes }
}

/// Names one path of a connection in a path message: eight bytes of a keyed hash of the connection ID that the dialler uses
/// on it. An ID is never used on two paths (RFC 9000 §9.5).
package struct PathMark: Hashable, Sendable {
    private let value: UInt64

    static let byteCount = 8

    init(_ bytes: some Sequence<UInt8>) {
        value = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    var bytes: [UInt8] { value.bigEndianBytes }
}
