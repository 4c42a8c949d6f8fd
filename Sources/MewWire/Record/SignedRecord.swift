internal import MewBase
package import MewIdentity

/// An address record with its publisher's signature (pkarr, spec/iroh-wire.md §5.3). Relays store and serve it without being
/// able to change it.
///
///     node ID (32) | signature (64) | timestamp (8, big endian) | DNS message (at most 1000)
///
/// Over HTTP the node ID stands in the path and the body is the rest.
package struct SignedRecord: Hashable, Sendable {
    package let node: NodeID
    package let signature: Signature
    /// Microseconds since 1970. Only compared with other records of the same node: a wrong clock costs nothing but that
    /// older records win until it has caught up.
    package let timestamp: UInt64
    package let dns: [UInt8]

    package static let maxDNSBytes = 1_000
    /// Of the HTTP body.
    package static let maxBodyBytes = 64 + 8 + maxDNSBytes

    /// - Parameter timestamp: larger than that of every record this key has signed.
    package init(_ record: AddressRecord, timestamp: UInt64, secret: SecretKey) {
        node = secret.node
        self.timestamp = timestamp
        dns = RecordDNS.encode(record, of: secret.node, maxBytes: Self.maxDNSBytes)
        signature = secret.sign(raw: Self.signedMessage(timestamp: timestamp, dns: dns))
    }

    /// Why a body is no record of that node.
    package enum Refusal: Error, Equatable {
        case wrongSize(Int)
        case badSignature
        case badDNS
    }

    /// Checks everything: whoever holds a `SignedRecord` need not look again.
    ///
    /// - Parameter body: of an HTTP PUT or of the answer to a GET.
    package init(body: [UInt8], of node: NodeID) throws(Refusal) {
        guard body.count > 72, body.count <= Self.maxBodyBytes, let signature = Signature(bytes: body[..<64]) else {
            throw .wrongSize(body.count)
        }
        self.node = node
        self.signature = signature
        timestamp = body[64..<72].reduce(0) { $0 << 8 | UInt64($1) }
        dns = Array(body[72...])
        guard signature.isValid(forRaw: Self.signedMessage(timestamp: timestamp, dns: dns), by: node) else {
            throw .badSignature
        }
        guard RecordDNS.strings(in: dns, of: node) != nil else { throw .badDNS }
    }

    package var body: [UInt8] {
        signature.bytes + timestamp.bigEndianBytes + dns
    }

    package var record: AddressRecord {
        AddressRecord(strings: RecordDNS.strings(in: dns, of: node) ?? [])
    }

    /// Whether it takes the place of `other`, a record of the same node.
    package func isNewer(than other: SignedRecord) -> Bool {
        timestamp == other.timestamp ? other.dns.lexicographicallyPrecedes(dns) : timestamp > other.timestamp
    }

    /// BEP 44: the bencoded sequence number and value.
    private static func signedMessage(timestamp: UInt64, dns: [UInt8]) -> [UInt8] {
        Array("3:seqi\(timestamp)e1:v\(dns.count):".utf8) + dns
    }
}
