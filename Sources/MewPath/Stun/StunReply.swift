package import MewBase

/// What a server says to a `StunRequest`.
package struct StunReply: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case success(Seen)
        case failure(code: UInt16, unknown: [UInt16])
    }

    /// Where the server saw the request come from, and where it is itself.
    package struct Seen: Hashable, Sendable {
        /// XOR-MAPPED-ADDRESS.
        package var mapped: SocketAddress
        /// RESPONSE-ORIGIN: from where the answer is sent; nil of a server that does not know RFC 5780.
        package var origin: SocketAddress?
        /// OTHER-ADDRESS: where it answers as well; nil of a server that answers at one place only.
        package var other: SocketAddress?

        package init(mapped: SocketAddress, origin: SocketAddress? = nil, other: SocketAddress? = nil) {
            (self.mapped, self.origin, self.other) = (mapped, origin, other)
        }
    }

    package let transaction: TransactionID
    package let content: Content

    package init(transaction: TransactionID, content: Content) {
        self.transaction = transaction
        self.content = content
    }

    // MARK: - Writing

    package var encoded: [UInt8] {
        switch content {
        case .success(let seen): success(seen)
        case .failure(let code, let unknown): failure(code, unknown)
        }
    }

    private func success(_ seen: Seen) -> [UInt8] {
        var message = StunMessage(method: PathMethod.binding, messageClass: .success, transaction: transaction)
        message.attributes = [
            .init(type: StunAttribute.xorMappedAddress, value: XorAddress.encode(seen.mapped, transaction))
        ]
        for (type, address) in [
            (StunAttribute.responseOrigin, seen.origin), (StunAttribute.otherAddress, seen.other),
        ] {
            if let address { message.attributes.append(.init(type: type, value: PlainAddress.encode(address))) }
        }
        return message.encoded
    }

    /// RFC 8489 §14.8: two zeros, the hundreds, the rest, and words for people.
    private func failure(_ code: UInt16, _ unknown: [UInt16]) -> [UInt8] {
        var message = StunMessage(method: PathMethod.binding, messageClass: .failure, transaction: transaction)
        let words = code == 420 ? "Unknown Attribute" : "Bad Request"
        let value = [0, 0, UInt8(code / 100 & 7), UInt8(code % 100)] + Array(words.utf8)
        message.attributes = [.init(type: StunAttribute.errorCode, value: value)]
        if !unknown.isEmpty {
            message.attributes.append(
                .init(type: StunAttribute.unknownAttributes, value: unknown.flatMap(\.bigEndianBytes)))
        }
        return message.encoded
    }

    // MARK: - Reading

    /// Nil for what is no answer to a Binding request, or lacks what it must have.
    package static func read(_ bytes: [UInt8]) -> StunReply? {
        guard let header = StunMessage.header(of: bytes), header.method == PathMethod.binding,
            StunMessage.fingerprint(of: bytes) != .wrong, let attributes = AttributeReader.all(of: bytes)
        else { return nil }
        var message = header
        message.attributes = attributes
        switch header.messageClass {
        case .success: return message.seen.map { StunReply(transaction: header.transaction, content: .success($0)) }
        case .failure: return message.error.map { StunReply(transaction: header.transaction, content: $0) }
        case .request, .indication: return nil
        }
    }
}

extension StunMessage {
    /// Attributes that are not known are skipped, required ones as well: what they could say changes no address.
    fileprivate var seen: StunReply.Seen? {
        guard let mapped = value(StunAttribute.xorMappedAddress).flatMap({ XorAddress.decode($0, transaction) }) else {
            return nil
        }
        return StunReply.Seen(
            mapped: mapped, origin: value(StunAttribute.responseOrigin).flatMap(PlainAddress.decode),
            other: value(StunAttribute.otherAddress).flatMap(PlainAddress.decode))
    }

    /// RFC 8489 §14.8: "The Class ... MUST be between 3 and 6 ... the number ... between 0 and 99".
    fileprivate var error: StunReply.Content? {
        guard let value = value(StunAttribute.errorCode), value.count >= 4, (3...6).contains(value[2] & 7),
            value[3] < 100
        else { return nil }
        let list = self.value(StunAttribute.unknownAttributes) ?? []
        let unknown = stride(from: 0, to: list.count & ~1, by: 2).map { Self.word(list, at: $0) }
        return .failure(code: UInt16(value[2] & 7) * 100 + UInt16(value[3]), unknown: unknown)
    }
}
