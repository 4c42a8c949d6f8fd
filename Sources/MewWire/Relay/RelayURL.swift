internal import MewBase
public import MewIdentity

/// Where a relay is: `https://relay.example.com/`, `http://192.0.2.1:3340/`, `https://192.0.2.1:4433/#<node ID>`.
///
/// The text is what iroh makes of it (spec/iroh-wire.md §4.1): lower-case host, no default port, a slash at the end, no path,
/// because the request always goes to `/relay`. Two URLs are equal when their texts are.
public struct RelayURL: Hashable, Sendable, CustomStringConvertible {
    /// TLS, unless the scheme is `http` or `ws`.
    public let isSecure: Bool
    /// A name, an IPv4 address, or an IPv6 address without its brackets. Lower case.
    public let host: String
    public let port: UInt16
    /// The relay's own key, when the URL pins it: the relay has to prove it on every connection. With TLS its certificate is
    /// checked besides; without, the proof finds wrong addresses, not attackers (`RelayKeyProof`).
    public let key: NodeID?

    /// As in payloads (`PairingPayload`): longer ones are no URLs of relays.
    public static let maxBytes = 256

    /// Parses what a person typed, who is told that relays have no path, query or user.
    package init(typed text: some StringProtocol) throws(RelayURLError) {
        try self.init(text)
        let path = try Self.key(try Self.scheme(text[...]).rest).rest.drop { $0 != "/" }
        guard path.isEmpty || path == "/" else { throw .hasPath }
    }

    /// Parses what a peer sent. A path is dropped, as iroh drops it.
    public init(_ text: some StringProtocol) throws(RelayURLError) {
        guard text.utf8.count <= Self.maxBytes else { throw .tooLong }
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { throw .notPrintable }
        let (scheme, afterScheme) = try Self.scheme(text[...])
        let (beforeKey, key) = try Self.key(afterScheme)
        let authority = beforeKey.prefix { $0 != "/" }
        guard !beforeKey.contains("?") else { throw .hasQuery }
        guard !authority.contains("@") else { throw .hasUser }
        isSecure = scheme == "https" || scheme == "wss"
        (host, port) = try Self.hostAndPort(authority, defaultPort: isSecure ? 443 : 80)
        self.key = key
    }

    public var description: String {
        let scheme = isSecure ? "https" : "http"
        let shownHost = host.contains(":") ? "[\(host)]" : host
        let shownPort = port == (isSecure ? 443 : 80) ? "" : ":\(port)"
        return "\(scheme)://\(shownHost)\(shownPort)/" + (key.map { "#\($0.z32)" } ?? "")
    }

    /// The same machine and port by the same scheme, whatever key is pinned.
    package func isSamePlace(as other: RelayURL) -> Bool {
        (isSecure, host, port) == (other.isSecure, other.host, other.port)
    }

    /// The value of `Host` in a request (RFC 9112 §3.2).
    package var authority: String {
        let shownHost = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? shownHost : "\(shownHost):\(port)"
    }

    private static func scheme<Text: StringProtocol>(
        _ text: Text
    ) throws(RelayURLError) -> (scheme: String, rest: Substring) {
        let text = String(text)[...]
        for scheme in ["https", "http", "wss", "ws"] where text.lowercased().hasPrefix(scheme + "://") {
            return (scheme, text.dropFirst(scheme.count + 3))
        }
        throw .noScheme
    }

    private static func key(_ text: Substring) throws(RelayURLError) -> (rest: Substring, key: NodeID?) {
        guard let mark = text.firstIndex(of: "#") else { return (text, nil) }
        let fragment = text[text.index(after: mark)...]
        if fragment.isEmpty { return (text[..<mark], nil) }
        do {
            return (text[..<mark], try NodeID(text: fragment))
        } catch {
            throw .key(error)
        }
    }

    private static func hostAndPort(
        _ authority: Substring, defaultPort: UInt16
    ) throws(RelayURLError) -> (String, UInt16) {
        let isBracketed = authority.first == "["
        let end =
            isBracketed ? authority.firstIndex(of: "]").map(authority.index(after:)) : authority.firstIndex(of: ":")
        let host = authority[..<(end ?? authority.endIndex)]
        let tail = authority[host.endIndex...]
        guard !host.isEmpty else { throw .noHost }
        guard end != nil || !isBracketed, tail.isEmpty || tail.first == ":" else { throw .badHost }
        var port = defaultPort
        if tail.count > 1 {
            let digits = tail.dropFirst()
            guard digits.utf8.count <= 5, digits.utf8.allSatisfy({ (48...57).contains($0) }),
                let number = UInt16(digits),
                number > 0
            else { throw .badPort }
            port = number
        }
        let name = isBracketed ? host.dropFirst().dropLast() : host
        guard isHost(name, isBracketed: isBracketed) else { throw .badHost }
        return (name.lowercased(), port)
    }

    /// Letters, digits, hyphens, dots; an IPv6 address in brackets. What does not resolve is found out when it is dialled.
    private static func isHost(_ name: Substring, isBracketed: Bool) -> Bool {
        guard isBracketed else {
            return name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            } && name != "."
        }
        return SocketAddress("[\(name)]:1") != nil
    }
}

/// Why a text is no relay URL. `description` is half a sentence that goes behind "the relay URL".
public enum RelayURLError: Error, Hashable, Sendable, CustomStringConvertible {
    case tooLong
    case notPrintable
    case noScheme
    case noHost
    case badHost
    case badPort
    case hasUser
    case hasQuery
    /// Only a person is told.
    case hasPath
    /// What stands behind `#` is no node ID.
    case key(NodeIDTextError)

    public var description: String {
        switch self {
        case .tooLong: "is longer than \(RelayURL.maxBytes) bytes"
        case .notPrintable: "has a space or a character that is not printable ASCII"
        case .noScheme: "does not begin with https:// or http://"
        case .noHost: "names no host"
        case .badHost: "names no host that can be looked up"
        case .badPort: "has something else than a port between 1 and 65535 behind the colon"
        case .hasUser: "has a user name, which relays do not take"
        case .hasQuery: "has a query, which relays do not take"
        case .hasPath: "has a path, which relays do not take: leave out what stands behind the host and its port"
        case .key(let error): "pins a key that is none: \(error)"
        }
    }
}
