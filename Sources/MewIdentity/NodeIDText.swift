// The texts of a node ID (spec/iroh-wire.md §1.1, DESIGN §4). Canonical is z-base-32, 52 characters; people may also type 64
// lower-case hex digits or 52 characters of RFC 4648 base32.
//
// 32 bytes are 51 full symbols and one that holds a single bit above four zero bits. So the last character tells the two
// base32 alphabets apart: `y` or `o` in z-base-32, `a` or `q` in RFC 4648.

internal import CSodium

extension NodeID: CustomStringConvertible, Comparable {
    /// The canonical text.
    public var description: String { z32 }

    /// z-base-32, 52 characters.
    public var z32: String { Base32.zBase32.encode(bytes) }

    /// 64 lower-case digits: what iroh and the stock phone print and parse.
    public var hex: String { Hex.encode(bytes) }

    /// RFC 4648 base32, lower case, 52 characters.
    public var base32: String { Base32.rfc4648.encode(bytes) }

    /// The server name iroh ≤ 1.0.3 dials with. Never checked, only recognised (spec/iroh-wire.md §2.2).
    public var serverName: String { Base32.extendedHex.encode(bytes) + ".iroh.invalid" }

    /// The key as SubjectPublicKeyInfo (RFC 8410 §4), 44 bytes: the raw public key of TLS (RFC 7250).
    public var spki: [UInt8] { Self.spkiPrefix + bytes }

    /// The key inside a SubjectPublicKeyInfo; nil unless it is exactly an ed25519 one.
    public init?(spki: some Collection<UInt8>) {
        guard spki.starts(with: Self.spkiPrefix) else { return nil }
        self.init(bytes: spki.dropFirst(Self.spkiPrefix.count))
    }

    private static let spkiPrefix: [UInt8] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]

    /// True when the bytes are a point that a secret key can have made: canonical, on the curve, of prime order. No
    /// signature verifies under any other key.
    public var isValidKey: Bool {
        Sodium.start()
        return crypto_core_ed25519_is_valid_point(bytes) == 1
    }

    /// 64 lower-case hex digits, as they stand in messages. Whether they are a key is checked where a signature is.
    public init?(hex: some StringProtocol) {
        guard hex.utf8.count == 64, let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes: bytes)
    }

    /// Parses what a person typed or pasted, in any of the three alphabets. No white space is trimmed.
    public init(text: some StringProtocol) throws(NodeIDTextError) {
        let bytes = try Self.parse(text)
        guard let node = NodeID(bytes: bytes), node.isValidKey else { throw .notAKey }
        self = node
    }

    public static func < (left: NodeID, right: NodeID) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    private static func parse(_ text: some StringProtocol) throws(NodeIDTextError) -> [UInt8] {
        switch text.utf8.count {
        case 0:
            throw .empty
        case 64:
            try check(text, .hex) { Hex.value(of: $0) != nil }
            return Hex.decode(text) ?? []
        case 52:
            let (alphabet, form) = try alphabet(endingIn: text.utf8.dropFirst(51).first)
            try check(text, form) { alphabet.value(of: $0) != nil }
            // Only the pad bits are left to be wrong, and the last character was chosen with zero ones.
            return alphabet.decode(text) ?? []
        case let count:
            throw .wrongLength(count)
        }
    }

    private static func alphabet(
        endingIn last: UInt8?
    ) throws(NodeIDTextError) -> (Base32, NodeIDTextError.Form) {
        switch last {
        case UInt8(ascii: "y"), UInt8(ascii: "o"), UInt8(ascii: "Y"), UInt8(ascii: "O"): (.zBase32, .zBase32)
        case UInt8(ascii: "a"), UInt8(ascii: "q"), UInt8(ascii: "A"), UInt8(ascii: "Q"): (.rfc4648, .base32)
        default: throw .wrongLastCharacter
        }
    }

    /// Names the first character that does not belong; counted in characters from 1, as a person would.
    private static func check(
        _ text: some StringProtocol, _ form: NodeIDTextError.Form, belongs: (UInt8) -> Bool
    ) throws(NodeIDTextError) {
        for (index, character) in text.enumerated() {
            guard let byte = character.asciiValue, belongs(byte) else {
                throw .wrongCharacter(character, position: index + 1, form)
            }
        }
    }
}

/// Why a text is no node ID. `description` is one sentence that names the part.
public enum NodeIDTextError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Form: Hashable, Sendable { case hex, zBase32, base32 }

    case empty
    case wrongLength(Int)
    /// The last of 52 characters belongs to neither alphabet's end.
    case wrongLastCharacter
    /// `position` counts from 1.
    case wrongCharacter(Character, position: Int, Form)
    /// Well written, but the 32 bytes are no ed25519 public key.
    case notAKey

    public var description: String {
        switch self {
        case .empty:
            "the node ID is empty"
        case .wrongLength(let count):
            "a node ID has 52 characters (or 64 hex digits); this has \(count)"
        case .wrongLastCharacter:
            "the last character of a node ID is y or o (a or q in base32); this one is mistyped or cut off"
        case .wrongCharacter(let character, let position, let form):
            "character \(position) of the node ID is \(Self.shown(character)), which \(form.rule)"
                + Self.hint(character, form)
        case .notAKey:
            "the node ID is written correctly but is no ed25519 public key; a character is probably mistyped"
        }
    }

    /// Control and bidirectional characters are named by number, so that they cannot disturb a terminal.
    private static func shown(_ character: Character) -> String {
        guard let byte = character.asciiValue, (0x21...0x7e).contains(byte) else {
            let number = character.unicodeScalars.first?.value ?? 0
            return "U+" + String(number, radix: 16, uppercase: true)
        }
        return "\"\(character)\""
    }

    /// The letter that z-base-32 uses in place of one that looks alike.
    private static func hint(_ character: Character, _ form: Form) -> String {
        let lookAlikes: [Character: Character] = ["0": "o", "l": "1", "v": "u", "2": "z"]
        guard form == .zBase32, let meant = lookAlikes[character] else { return "" }
        return "; did you mean \"\(meant)\"?"
    }
}

extension NodeIDTextError.Form {
    fileprivate var rule: String {
        switch self {
        case .hex: "is not one of the lower-case hex digits 0-9 and a-f"
        case .zBase32: "is not in the lower-case z-base-32 alphabet"
        case .base32: "is not in the base32 alphabet a-z, 2-7"
        }
    }
}
