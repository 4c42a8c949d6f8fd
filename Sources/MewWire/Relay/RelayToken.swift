/// What a relay may want to be shown before it forwards (spec/iroh-wire.md §4.7).
package enum RelayToken {
    /// The head of a request has room for 8 KiB.
    package static let maxBytes = 1_024

    /// The end of a sentence that begins with where it stands.
    package static let rule = "must have 1 to 1024 bytes, without blanks and control characters"

    /// Whether `text` can stand in the field of an HTTP request that shows it, and arrives as it is.
    package static func isOne(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        return !bytes.isEmpty && bytes.count <= maxBytes && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7f }
    }
}
