import MewBase
import MewIdentity
import MewWire

/// How the text of an option or a word becomes a value; each refusal names what was expected.
enum Readers {
    static func text(_ what: String) -> @Sendable (String) throws(UsageError) -> String {
        { text throws(UsageError) in
            guard !text.isEmpty else { throw UsageError("\(what) must not be empty") }
            return text
        }
    }

    /// What a relay is shown, or wants to be shown.
    static func relayToken(_ what: String) -> @Sendable (String) throws(UsageError) -> String {
        { text throws(UsageError) in
            // It is a secret, also when it is wrong: the message does not repeat it.
            guard RelayToken.isOne(text) else { throw UsageError("\(what) \(RelayToken.rule)") }
            return text
        }
    }

    static func integer(
        _ what: String, in range: ClosedRange<Int>, of unit: String? = nil
    ) -> @Sendable (String) throws(UsageError) -> Int {
        { text throws(UsageError) in
            guard let value = Int(text), range.contains(value) else {
                let number = "a whole number" + (unit.map { " of \($0)" } ?? "")
                throw UsageError(
                    "\(what) must be \(number) from \(range.lowerBound) to \(range.upperBound), not '\(shown(text))'")
            }
            return value
        }
    }

    static func choice(
        _ what: String, _ names: [String]
    ) -> @Sendable (String) throws(UsageError) -> String {
        { text throws(UsageError) in
            if names.contains(text) { return text }
            let near = nearestMatch(to: text, among: names).map { "Did you mean \($0)?" }
            throw UsageError(
                "\(what) must be one of \(names.joined(separator: ", ")), not '\(shown(text))'", hint: near)
        }
    }

    /// `192.0.2.1:443` or `[2001:db8::1]:443`.
    static func socketAddress(_ what: String) -> @Sendable (String) throws(UsageError) -> SocketAddress {
        { text throws(UsageError) in
            guard let address = SocketAddress(text) else {
                throw UsageError(
                    "\(what) must be IP:PORT such as 192.0.2.1:7842 or [2001:db8::1]:7842, not '\(shown(text))'")
            }
            return address
        }
    }

    /// `https://relay.example.com/` or `http://192.0.2.1:3340/`.
    static func relayURL(_ what: String) -> @Sendable (String) throws(UsageError) -> RelayURL {
        { text throws(UsageError) in
            do throws(RelayURLError) {
                return try RelayURL(typed: text)
            } catch {
                throw UsageError("\(what) '\(shown(text))' \(error)")
            }
        }
    }

    /// A node ID in any of its text forms.
    static func nodeID(_ what: String) -> @Sendable (String) throws(UsageError) -> NodeID {
        { text throws(UsageError) in
            do throws(NodeIDTextError) {
                return try NodeID(text: text)
            } catch {
                throw UsageError("\(what) must be a node ID, not '\(shown(text))': \(error)")
            }
        }
    }

    /// What was typed, safe to print back.
    static func shown(_ text: String) -> String { text.printable(limit: 80) }
}
