internal import MewBase
internal import MewWire

extension PathMessage {
    /// At most 1200 bytes: what does not fit of a call is left out, its relays first.
    func encoded(_ keys: PathKeys) -> [UInt8] {
        var message = StunMessage(method: method, messageClass: messageClass, transaction: transaction)
        message.attributes.append(.init(type: PathAttribute.linkTag, value: keys.sendTag.bytes))
        switch content {
        case .probe: message.append(counter: counter)
        case .probeAnswer(let observed), .callAnswer(let observed), .offerAnswer(let observed):
            message.append(observed: observed)
        case .call(let call):
            message.append(counter: counter)
            message.append(call)
        case .offer(let offer):
            message.append(counter: counter)
            message.append(candidates: offer.candidates)
            message.append(nat: offer.nat)
        }
        return message.encoded(key: keys.sendKey)
    }

    private var method: UInt16 {
        switch content {
        case .probe, .probeAnswer: PathMethod.binding
        case .call, .callAnswer: PathMethod.call
        case .offer, .offerAnswer: PathMethod.offer
        }
    }

    private var messageClass: StunMessage.Class {
        switch content {
        case .probe, .call, .offer: .request
        case .probeAnswer, .callAnswer, .offerAnswer: .success
        }
    }

    // MARK: - Reading

    /// Nil unless the peer of this connection wrote it, with what its kind must have.
    static func read(_ bytes: [UInt8], _ keys: PathKeys) -> PathMessage? {
        guard let message = StunMessage.read(bytes, key: keys.receiveKey), message.isUnderstood,
            let tag = message.attributes.first, tag.type == PathAttribute.linkTag,
            tag.value == keys.receiveTag.bytes
        else { return nil }
        switch (message.method, message.messageClass) {
        case (PathMethod.binding, .request): return question(message, .probe)
        case (PathMethod.call, .request): return message.call.flatMap { question(message, .call($0)) }
        case (PathMethod.offer, .request): return question(message, .offer(message.offer))
        case (PathMethod.binding, .success): return answer(message, .probeAnswer(observed: message.observed))
        case (PathMethod.call, .success): return answer(message, .callAnswer(observed: message.observed))
        case (PathMethod.offer, .success): return answer(message, .offerAnswer(observed: message.observed))
        default: return nil
        }
    }

    private static func question(_ message: StunMessage, _ content: Content) -> PathMessage? {
        guard let value = message.value(PathAttribute.counter), value.count == 8 else { return nil }
        let counter = value.reduce(0) { $0 << 8 | UInt64($1) }
        return PathMessage(transaction: message.transaction, counter: counter, content: content)
    }

    private static func answer(_ message: StunMessage, _ content: Content) -> PathMessage {
        PathMessage(transaction: message.transaction, counter: 0, content: content)
    }
}

extension StunMessage {
    fileprivate mutating func append(counter: UInt64) {
        attributes.append(Attribute(type: PathAttribute.counter, value: counter.bigEndianBytes))
    }

    fileprivate mutating func append(observed: SocketAddress?) {
        guard let observed else { return }
        let value = XorAddress.encode(observed, transaction)
        attributes.append(Attribute(type: StunAttribute.xorMappedAddress, value: value))
    }

    fileprivate mutating func append(_ call: Call) {
        if let mark = call.unheard { attributes.append(Attribute(type: PathAttribute.unheard, value: mark.bytes)) }
        append(candidates: call.candidates)
        append(nat: call.nat)
        for relay in call.relays.prefix(Call.maxRelays) {
            attributes.append(Attribute(type: PathAttribute.relay, value: Array(relay.description.utf8)))
            if encodedBytes > Self.maxBytes { attributes.removeLast() }
        }
    }

    fileprivate mutating func append(candidates: [SocketAddress]) {
        for candidate in candidates.prefix(Call.maxCandidates) {
            let value = XorAddress.encode(candidate, transaction)
            attributes.append(Attribute(type: PathAttribute.candidate, value: value))
        }
    }

    fileprivate mutating func append(nat: NATReport?) {
        guard let nat else { return }
        attributes.append(Attribute(type: PathAttribute.nat, value: NATAttribute.encode(nat)))
    }

    /// RFC 8489 §6.3: a message with an attribute that must be understood and is not would be refused; we say nothing.
    fileprivate var isUnderstood: Bool {
        attributes.allSatisfy { !StunAttribute.isRequired($0.type) || $0.type == StunAttribute.xorMappedAddress }
    }

    fileprivate var observed: SocketAddress? {
        value(StunAttribute.xorMappedAddress).flatMap { XorAddress.decode($0, transaction) }
    }

    /// Candidates and relays that make no sense are skipped; a mark of another length makes it no call.
    fileprivate var call: Call? {
        let mark = value(PathAttribute.unheard)
        guard mark == nil || mark?.count == PathMark.byteCount else { return nil }
        let relays = values(PathAttribute.relay).prefix(Call.maxRelays)
            .compactMap { try? RelayURL(String(decoding: $0, as: UTF8.self)) }
        return Call(candidates: candidates, relays: relays, unheard: mark.map { PathMark($0) }, nat: nat)
    }

    fileprivate var offer: Offer { Offer(candidates: candidates, nat: nat) }

    private var candidates: [SocketAddress] {
        values(PathAttribute.candidate).prefix(Call.maxCandidates)
            .compactMap { XorAddress.decode($0, transaction) }.filter(\.canBeDialled)
    }

    private var nat: NATReport? { value(PathAttribute.nat).flatMap { NATAttribute.decode($0) } }
}

extension SocketAddress {
    /// No port, "this network", groups, reserved addresses and broadcast lead nowhere; a link-local IPv6 address means another interface
    /// on every machine.
    package var canBeDialled: Bool {
        guard port != 0, !isUnspecified else { return false }
        switch family {
        case .ipv4: return ipv4 >> 24 != 0 && ipv4 >> 28 < 0xe
        case .ipv6: return high >> 56 != 0xff && high >> 54 != 0x3fa
        }
    }
}
