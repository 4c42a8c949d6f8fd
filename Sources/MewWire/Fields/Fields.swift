/// Reads or writes the fields of one record, by one description for both directions.
///
/// A record has a single initializer that names its fields in wire order:
///
///     init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
///         id = try f.required("id", old?.id)
///         color = try f.optional("color", old?.color)
///     }
///
/// Reading, `old` is nil and each call returns what the object holds. Writing, `old` is the record, and each call appends the
/// field and returns it unchanged. So the two directions cannot drift apart, and the compiler refuses a record that forgets a
/// field. The notation of spec/mew-wire.md §0.2 maps to methods: `name` is `required`, `name?` `optional`, `name: T|null`
/// `nullable`, `name = v` `defaulted`. Fields that exist on `mew/wire/1` only are `native`: on a stock link they are neither
/// written nor read.
package struct Fields {
    let link: ApplicationProtocol
    /// Nil while writing.
    private let object: JSONObject?
    /// Where the next field is expected; peers write in the order we read.
    private var cursor = 0
    var writer = JSONWriter()
    private var isFirst = true

    /// Set by the message's own `session_id` or `seq`, so that the envelope's field of that name keeps out of its way.
    private(set) var ownsSession = false
    private(set) var ownsSequence = false

    init(reading object: JSONObject, on link: ApplicationProtocol) {
        (self.object, self.link) = (object, link)
    }

    init(writingOn link: ApplicationProtocol) {
        (object, self.link) = (nil, link)
    }

    var isNative: Bool { link == .native }
    var isReading: Bool { object != nil }

    // MARK: - One method per form

    /// `name`: missing fails the message.
    package mutating func required<V: WireValue>(_ key: String, _ old: V?) throws(FieldError) -> V {
        if let old { return write(key, old) }
        guard let json = find(key) else { throw FieldError("is missing", path: key) }
        return try read(json, key)
    }

    /// `name?`: left out when nil; null is accepted.
    package mutating func optional<V: WireValue>(_ key: String, _ old: V?) throws(FieldError) -> V? {
        if let old { return write(key, old) }
        guard let json = find(key), !json.isNull else { return nil }
        return try read(json, key)
    }

    /// `name: T|null`: written as null when nil; absent is accepted.
    package mutating func nullable<V: WireValue>(_ key: String, _ old: V?) throws(FieldError) -> V? {
        if object == nil, old == nil { writeKey(key, null: true) }
        return try optional(key, old)
    }

    /// `name = v`: always written; `fallback` when absent.
    package mutating func defaulted<V: WireValue>(_ key: String, _ old: V?, _ fallback: V) throws(FieldError) -> V {
        try optional(key, old) ?? fallback
    }

    /// A field that is left out when it equals `fallback`.
    package mutating func unless<V: WireValue & Equatable>(
        _ fallback: V, _ key: String, _ old: V?
    ) throws(FieldError) -> V {
        try optional(key, old == fallback ? nil : old) ?? fallback
    }

    /// An optional field of `mew/wire/1`.
    mutating func native<V: WireValue>(_ key: String, _ old: V?) throws(FieldError) -> V? {
        isNative ? try optional(key, old) : nil
    }

    /// The session that a message names itself.
    mutating func session(_ old: SessionID?) throws(FieldError) -> SessionID {
        ownsSession = true
        return try required("session_id", old)
    }

    /// The session that a message may name itself.
    mutating func optionalSession(_ old: SessionID?) throws(FieldError) -> SessionID? {
        ownsSession = true
        return try optional("session_id", old)
    }

    /// Declares that this message has a `seq` which is not the number of its event. Comes before the first field, so that it
    /// holds for a message that fails, too: its envelope must not seem to be an event.
    mutating func ownsSequenceField() { ownsSequence = true }

    // MARK: - Reading

    /// The `type` of the object that is read.
    mutating func typeName() throws(FieldError) -> String { try required("type", nil) }

    private mutating func find(_ key: String) -> JSON? {
        guard let object else { return nil }
        if cursor < object.count, object.entries[cursor].key == key {
            cursor += 1
            return object.entries[cursor - 1].value
        }
        guard let position = object.position(of: key) else { return nil }
        cursor = position + 1
        return object.entries[position].value
    }

    private func read<V: WireValue>(_ json: JSON, _ key: String) throws(FieldError) -> V {
        do throws(FieldError) {
            return try V.read(json, on: link)
        } catch {
            throw error.inside(key)
        }
    }

    // MARK: - Writing

    private mutating func write<V: WireValue>(_ key: String, _ value: V) -> V {
        writeKey(key)
        value.write(to: &self)
        return value
    }

    /// Field names are ours and need no escaping.
    private mutating func writeKey(_ key: String, null: Bool = false) {
        if !isFirst { writer.byte(",") }
        isFirst = false
        writer.byte("\"")
        writer.raw(key)
        writer.raw(null ? "\":null" : "\":")
    }

    /// Writes `{`, the fields that `body` names, and `}`.
    mutating func writeObject(_ body: (inout Fields) throws(FieldError) -> Void) {
        let outer = isFirst
        isFirst = true
        writer.byte("{")
        do throws(FieldError) {
            try body(&self)
        } catch {
            preconditionFailure("a record that was written without its value: \(error)")
        }
        writer.byte("}")
        isFirst = outer
    }

    /// Writes `record` with a `type` before its fields.
    mutating func writeObject(type: String, _ record: some Record) {
        writeObject { f throws(FieldError) in
            _ = try f.required("type", type)
            try record.writeFields(to: &f)
        }
    }
}

/// A JSON object with known fields.
package protocol Record: WireValue {
    /// Reads the fields (`old` is nil) or writes those of `old` and returns it; see `Fields`.
    init(_ f: inout Fields, _ old: Self?) throws(FieldError)
}

extension Record {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> Self {
        guard case .object(let object) = json else { throw .wrongKind(json, wanted: "an object") }
        var fields = Fields(reading: object, on: link)
        return try Self(&fields, nil)
    }

    package func write(to fields: inout Fields) {
        fields.writeObject { f throws(FieldError) in try writeFields(to: &f) }
    }

    /// Appends the fields to an object that is open already.
    func writeFields(to f: inout Fields) throws(FieldError) { _ = try Self(&f, self) }
}

extension WireValue {
    /// The value as compact JSON, for storage and for output.
    package func encoded(for link: ApplicationProtocol = .native) -> [UInt8] {
        var fields = Fields(writingOn: link)
        write(to: &fields)
        return fields.writer.bytes
    }

    /// The value in JSON that was stored or received.
    package static func decode(_ json: JSON, from link: ApplicationProtocol = .native) throws(FieldError) -> Self {
        try read(json, on: link)
    }
}

/// A message that is its type and nothing else.
struct NoFields: Record {
    init() {}
    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {}
}
