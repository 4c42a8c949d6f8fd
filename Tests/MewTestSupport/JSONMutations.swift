package import MewWire

/// Damages JSON values in their structure, so that the text stays JSON and the damage gets past the parser: members dropped,
/// renamed, doubled by others' values, numbers at their limits, kinds exchanged.
package enum JSONMutations {
    /// What decoders stumble over.
    private static let oddities: [JSON] = [
        nil, true, 0, -1, 1, 1.5, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, .integer(JSON.maxInteger),
        .integer(-JSON.maxInteger), .number(-0.0), .number(.greatestFiniteMagnitude), .number(.leastNonzeroMagnitude),
        "",
        "\u{0}", "\"\\\u{7f}\u{2028}🐈", "01K4SJKHR00000000000SESS01", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "sess_", "running",
        "text", .string(String(repeating: "x", count: 129)), [], [[]], [nil], [:], ["type": "text"],
        ["failed": ["reason": "r"]],
    ]

    private static let names = ["type", "session_id", "seq", "op_id", "ref", "input", "", "é", "x"]

    /// One change somewhere in `json`, drawn from the oddities and from the values of `pool`.
    package static func mutate(
        _ json: JSON, pool: [JSON], using random: inout some RandomNumberGenerator
    ) -> JSON {
        // Half of the time further down, so that deep fields get their share.
        if Bool.random(using: &random) {
            switch json {
            case .object(var object) where !object.isEmpty:
                let entry = object.entries[Int.random(in: 0..<object.count, using: &random)]
                object[entry.key] = mutate(entry.value, pool: pool, using: &random)
                return .object(object)
            case .array(var elements) where !elements.isEmpty:
                let index = Int.random(in: elements.indices, using: &random)
                elements[index] = mutate(elements[index], pool: pool, using: &random)
                return .array(elements)
            default: break
            }
        }
        return changed(json, pool, &random)
    }

    private static func changed(
        _ json: JSON, _ pool: [JSON], _ random: inout some RandomNumberGenerator
    ) -> JSON {
        let other = replacement(pool, &random)
        switch json {
        case .object(var object):
            let name = object.keys.randomElement(using: &random) ?? ""
            switch Int.random(in: 0..<4, using: &random) {
            case 0: object[name] = nil
            case 1: object[names.randomElement(using: &random) ?? ""] = other
            case 2: object[name] = other
            default: return other
            }
            return .object(object)
        case .array(var elements):
            switch Int.random(in: 0..<3, using: &random) {
            case 0: elements.append(other)
            case 1: elements += elements
            default: elements = Array(elements.dropFirst())
            }
            return .array(elements)
        case .null, .bool, .integer, .number, .string:
            return other
        }
    }

    /// An oddity, or some value of another message.
    private static func replacement(_ pool: [JSON], _ random: inout some RandomNumberGenerator) -> JSON {
        guard Int.random(in: 0..<3, using: &random) == 0, var value = pool.randomElement(using: &random) else {
            return oddities.randomElement(using: &random) ?? .null
        }
        while let inner = value.asObject?.entries.randomElement(using: &random)?.value {
            value = inner
            if Bool.random(using: &random) { break }
        }
        return value
    }
}
