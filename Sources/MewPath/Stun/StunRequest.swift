internal import MewBase

/// "Where do you see me?": a Binding request without any proof of who asks (RFC 8489 §3), 20 bytes and perhaps
/// CHANGE-REQUEST (RFC 5780 §7.2).
///
///     0x0003 | 4 | 00 00 00 (0, or 2: from your other port, or 4: from your other address, or 6)
package struct StunRequest: Hashable, Sendable {
    /// From where the answer is wanted.
    package enum Origin: Hashable, Sendable {
        /// From where the request was sent to.
        case same
        case otherPort
        /// From another address of the server, with the same port or another.
        case otherAddress
    }

    package let transaction: TransactionID
    package let origin: Origin

    package init(transaction: TransactionID, origin: Origin = .same) {
        self.transaction = transaction
        self.origin = origin
    }

    package var encoded: [UInt8] {
        var message = StunMessage(method: PathMethod.binding, messageClass: .request, transaction: transaction)
        if origin != .same {
            message.attributes.append(.init(type: StunAttribute.changeRequest, value: [0, 0, 0, origin.flags]))
        }
        return message.encoded
    }

    // MARK: - Reading

    package enum Reading: Hashable, Sendable {
        case request(StunRequest)
        /// It asks for what we do not know: 420, and which attributes those are.
        case unknown(TransactionID, attributes: [UInt16])
        /// An attribute is cut off or of a wrong length: 400.
        case malformed(TransactionID)
    }

    /// Nil for what is no Binding request and gets no answer.
    package static func read(_ bytes: [UInt8]) -> Reading? {
        guard let header = StunMessage.header(of: bytes), header.method == PathMethod.binding,
            header.messageClass == .request, StunMessage.fingerprint(of: bytes) != .wrong
        else { return nil }
        let transaction = header.transaction
        guard let attributes = AttributeReader.all(of: bytes) else { return .malformed(transaction) }
        let unknown = unknownTypes(attributes)
        guard unknown.isEmpty else { return .unknown(transaction, attributes: unknown) }
        guard let change = attributes.first(where: { $0.type == StunAttribute.changeRequest }) else {
            return .request(StunRequest(transaction: transaction))
        }
        guard let origin = Origin(changeRequest: change.value) else { return .malformed(transaction) }
        return .request(StunRequest(transaction: transaction, origin: origin))
    }

    /// Those that must be understood, each once.
    private static func unknownTypes(_ attributes: [StunMessage.Attribute]) -> [UInt16] {
        attributes.map(\.type).reduce(into: []) { found, type in
            if StunAttribute.isRequired(type), !known.contains(type), !found.contains(type) { found.append(type) }
        }
    }

    /// RFC 8489 §6.3: "known-but-unexpected attributes SHOULD be ignored". A server for everybody takes no credentials, and
    /// does not mind them.
    private static let known: Set<UInt16> = [
        0x0001, StunAttribute.changeRequest, 0x0006, 0x0008, StunAttribute.errorCode, StunAttribute.unknownAttributes,
        0x0014, 0x0015, StunAttribute.messageIntegritySHA256, 0x001d, 0x001e, StunAttribute.xorMappedAddress,
    ]
}

extension StunRequest.Origin {
    /// The bits "change IP" and "change port".
    fileprivate var flags: UInt8 {
        switch self {
        case .same: 0
        case .otherPort: 2
        case .otherAddress: 4
        }
    }

    fileprivate init?(changeRequest value: [UInt8]) {
        guard value.count == 4 else { return nil }
        switch value[3] & 6 {
        case 0: self = .same
        case 2: self = .otherPort
        default: self = .otherAddress
        }
    }
}

extension AttributeReader {
    /// Nil when one is cut off. Never more than a message of the largest size has.
    static func all(of bytes: [UInt8]) -> [StunMessage.Attribute]? {
        var reader = AttributeReader(bytes: bytes)
        var attributes: [StunMessage.Attribute] = []
        while let found = reader.next() { attributes.append(found.attribute) }
        return reader.isAtEnd ? attributes : nil
    }
}
