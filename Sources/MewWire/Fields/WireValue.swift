package import MewBase

/// What can stand in a field of a message: scalars, identifiers, enums, records, and arrays of them.
package protocol WireValue: Sendable {
    static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> Self
    func write(to fields: inout Fields)
}

// MARK: - Scalars

extension String: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> String {
        guard case .string(let value) = json else { throw .wrongKind(json, wanted: "a string") }
        return value
    }

    package func write(to fields: inout Fields) { fields.writer.write(self) }
}

extension Bool: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> Bool {
        guard case .bool(let value) = json else { throw .wrongKind(json, wanted: "true or false") }
        return value
    }

    package func write(to fields: inout Fields) { fields.writer.write(self) }
}

/// Whole doubles are written with their fraction (`0.0`); integers are accepted. Not finite is written as 0, because the field
/// is required and JSON has no word for it.
extension Double: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> Double {
        guard let value = json.asDouble else { throw .wrongKind(json, wanted: "a number") }
        return value
    }

    package func write(to fields: inout Fields) { fields.writer.write(isFinite ? self : 0) }
}

extension JSON: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> JSON { json }
    package func write(to fields: inout Fields) { fields.writer.write(self) }
}

/// The integer types differ only in their range; what is outside is refused, never cut.
extension WireValue where Self: FixedWidthInteger {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> Self {
        guard case .integer(let value) = json else { throw .wrongKind(json, wanted: "an integer") }
        guard let value = Self(exactly: value) else {
            throw FieldError("must be an integer from \(Self.min) to \(Self.max)")
        }
        return value
    }

    package func write(to fields: inout Fields) { fields.writer.write(Int64(clamping: self)) }
}

extension Int64: WireValue {}
extension UInt8: WireValue {}
extension UInt16: WireValue {}
extension UInt32: WireValue {}
extension UInt64: WireValue {}

extension ULID: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> ULID {
        guard case .string(let text) = json, let value = ULID(text) else {
            throw FieldError("must be a ULID: 26 characters of Crockford base32 in upper case")
        }
        return value
    }

    package func write(to fields: inout Fields) { fields.writer.write(description) }
}

// MARK: - Arrays

extension Array: WireValue where Element: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> [Element] {
        guard case .array(let elements) = json else { throw .wrongKind(json, wanted: "an array") }
        var values: [Element] = []
        values.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do throws(FieldError) {
                values.append(try Element.read(element, on: link))
            } catch {
                throw error.inside(index: index)
            }
        }
        return values
    }

    package func write(to fields: inout Fields) {
        fields.writer.byte("[")
        for (index, element) in enumerated() {
            if index > 0 { fields.writer.byte(",") }
            element.write(to: &fields)
        }
        fields.writer.byte("]")
    }
}

// MARK: - Enums

/// An enum whose cases travel as strings. A string that is no case fails the message, as it does in stock peers.
package protocol WireEnum: WireValue, RawRepresentable<String>, CaseIterable {
    /// Other spellings that are accepted, and what unknown ones mean where the protocol gives them a meaning.
    static func otherwise(_ text: String) -> Self?
}

extension WireEnum {
    package static func otherwise(_ text: String) -> Self? { nil }

    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> Self {
        guard case .string(let text) = json else { throw .wrongKind(json, wanted: "a string") }
        guard let value = Self(rawValue: text) ?? otherwise(text) else {
            throw FieldError("must be one of \(allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }

    package func write(to fields: inout Fields) { fields.writer.write(rawValue) }
}
