// What the two kinds of frames have in common.

/// Longer names are cut before they are handed out: they end up in errors and logs.
private let maxTypeNameBytes = 64

func encodeFrame(
    type: String, _ payload: any Record, _ envelope: some Record, for link: ApplicationProtocol
) -> [UInt8] {
    var f = Fields(writingOn: link)
    f.writeObject { f throws(FieldError) in
        _ = try f.required("type", type)
        try payload.writeFields(to: &f)
        try envelope.writeFields(to: &f)
    }
    return f.writer.bytes
}

/// - Parameters:
///   - message: reads the message of a type; nil when there is no such type on this link.
///   - frame: puts both together.
func decodeFrame<Message, Frame, Envelope: Record & Equatable>(
    _ bytes: [UInt8], from link: ApplicationProtocol, limits: JSON.Limits, noEnvelope: Envelope,
    message: (String, inout Fields) throws(FieldError) -> Message?,
    frame: (Message, Envelope) -> Frame
) -> Decoded<Frame, Envelope> {
    var f: Fields
    do throws(JSONError) {
        guard case .object(let object) = try JSON(parsing: bytes, limits: limits) else {
            return .invalid(sentence: "the message must be a JSON object", noEnvelope)
        }
        f = Fields(reading: object, on: link)
    } catch {
        return .invalid(sentence: "\(error)", noEnvelope)
    }
    do throws(FieldError) {
        let type = try f.typeName()
        guard let message = try message(type, &f) else {
            return .unknownType(name: type.prefix(utf8: maxTypeNameBytes), f.envelope() ?? noEnvelope)
        }
        return .decoded(frame(message, try Envelope(&f, nil)))
    } catch {
        return .invalid(sentence: "\(error)", f.envelope() ?? noEnvelope)
    }
}

extension Fields {
    /// The envelope of a message that is refused or skipped; nil when it is wrong as well, which the refusal need not add.
    fileprivate func envelope<Envelope: Record>() -> Envelope? {
        var copy = self
        return try? Envelope(&copy, nil)
    }

    /// Bounds what a peer makes us keep and send back.
    private static let maxRefBytes = 64

    mutating func ref(_ old: String?) throws(FieldError) -> String? {
        let ref = try native("ref", old)
        guard (ref?.utf8.count ?? 0) <= Self.maxRefBytes else {
            throw FieldError("must have at most \(Self.maxRefBytes) bytes", path: "ref")
        }
        return ref
    }
}

extension String {
    /// The beginning of the text, whole characters, in at most `count` bytes.
    fileprivate func prefix(utf8 count: Int) -> String {
        var bytes = 0
        return String(
            prefix {
                bytes += $0.utf8.count
                return bytes <= count
            })
    }
}

/// The types of one direction, found by name in one lookup: a raw-value initializer compares with every name in turn.
protocol MessageKind: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    static func named(_ type: String) -> Self?
}

extension ClientMessage.Kind: MessageKind {
    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    static func named(_ type: String) -> Self? { byName[type] }
}

extension DaemonMessage.Kind: MessageKind {
    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

    static func named(_ type: String) -> Self? { byName[type] }
}

extension Fields {
    /// The kind that `type` names; nil when there is none.
    mutating func kind<Kind: MessageKind>(_ old: Kind?) throws(FieldError) -> Kind? {
        if let old { return old }
        return Kind.named(try typeName())
    }
}
