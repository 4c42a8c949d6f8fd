public import MewBase
public import MewIdentity

/// What one screen shows and another types or scans to find and trust a daemon (DESIGN §11, spec/mew-wire.md §2.1).
public struct PairingPayload: Sendable {
    public let node: NodeID
    /// What the daemon calls itself, cleaned for a screen.
    public let name: String?
    /// Present: pairs at once. Absent: somebody at the daemon confirms.
    public let token: PairingToken?
    /// Relay URLs, the home relay first.
    public let relays: [String]
    public let addresses: [SocketAddress]

    /// More routes than this help nobody to connect and cost a dial each.
    public static let maxRelays = 8
    /// As many as are exchanged after authorization (DESIGN §6).
    public static let maxAddresses = 16
    /// A QR code holds less than 3 KiB, and everything the parser accepts fits into this.
    public static let maxBytes = 8 << 10

    /// Routes beyond the bounds are left out.
    public init(
        node: NodeID, name: String? = nil, token: PairingToken? = nil, relays: [String] = [],
        addresses: [SocketAddress] = []
    ) {
        self.node = node
        let cleaned = name?.printableName
        self.name = cleaned?.isEmpty == true ? nil : cleaned
        self.token = token
        self.relays = Array(relays.prefix(Self.maxRelays))
        self.addresses = Array(addresses.prefix(Self.maxAddresses))
    }

    // MARK: Printing

    static let versionPrefix = "mew001:"
    static let linkPrefix = "computer.mew.mew://"

    /// The full form, `mew001:{…}`. The node ID is hex, because stock phones parse nothing else.
    public var text: String {
        var object = JSONObject()
        object["node_id"] = .string(node.hex)
        object["name"] = name.map(JSON.string)
        object["token"] = token.map { .string($0.revealed) }
        object["relay"] = relays.first.map(JSON.string)
        object["relays"] = relays.isEmpty ? nil : .array(relays.map(JSON.string))
        object["addrs"] = addresses.isEmpty ? nil : .array(addresses.map { .string($0.description) })
        return Self.versionPrefix + JSON.object(object).text
    }

    /// The short form for a QR code. A phone's camera opens it in the app.
    public var link: String {
        Self.linkPrefix + node.hex + (token.map { "?token=" + $0.revealed } ?? "")
    }

    /// The whole command to run on the other machine, quoted for a POSIX shell.
    public var command: String {
        let quoted = text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
        return "mew add '\(quoted)'"
    }
}
