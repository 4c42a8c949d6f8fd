/// The head of a request or a response: its fields in order, those that begin with a colon first (RFC 9114 §4.3).
package struct HTTP3Head: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        /// Lower case (RFC 9114 §4.2); what came is checked by the library.
        package let name: String
        package let value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    package init(_ fields: [(String, String)]) {
        for (name, value) in fields { append(name, value) }
    }

    package mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The first value of this name.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    package var method: String? { self[":method"] }
    package var path: String? { self[":path"] }
    /// Of an extended CONNECT (RFC 8441 §4, RFC 9220).
    package var `protocol`: String? { self[":protocol"] }

    package var status: Int? { self[":status"].flatMap { Int($0) } }

    /// As RFC 9114 §4.2.2 counts: "the length of the name and value in bytes plus an overhead of 32 bytes for each field".
    var byteCount: Int { fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 } }
}
