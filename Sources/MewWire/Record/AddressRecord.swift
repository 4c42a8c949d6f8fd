package import MewBase

/// Where a node can be reached, as it publishes it under its own key (spec/iroh-wire.md §5.1): strings `key=value` in TXT
/// records.
package struct AddressRecord: Hashable, Sendable {
    /// The home relay first.
    package var relays: [RelayURL]
    package var addresses: [SocketAddress]
    /// Up to 245 bytes of the application's own.
    package var userData: String?

    package init(relays: [RelayURL], addresses: [SocketAddress] = [], userData: String? = nil) {
        self.relays = relays
        self.addresses = addresses
        self.userData = userData
    }

    /// More routes than this help nobody to connect; the rest of somebody's record is ignored (DESIGN §6).
    package static let maxEntries = 16

    static let maxUserDataBytes = 245

    /// In the order in which iroh writes them. Values with `=` would be cut by its parser, so they are left out.
    var strings: [String] {
        let relays = relays.map { ("relay", $0.description) }
        let addresses = addresses.map { ("addr", $0.description) }
        let userData = userData.map { [("user-data", $0)] } ?? []
        return (relays + addresses + userData).filter { !$0.1.contains("=") }.map { "\($0.0)=\($0.1)" }
    }

    /// Lenient: unknown keys and values that do not parse are skipped, so that newer records can be read.
    init(strings: [String]) {
        self.init(relays: [])
        for string in strings {
            guard let mark = string.firstIndex(of: "=") else { continue }
            take(string[..<mark], String(string[string.index(after: mark)...]))
        }
    }

    private mutating func take(_ key: Substring, _ value: String) {
        switch key {
        case "relay":
            if relays.count < Self.maxEntries, let url = try? RelayURL(value) { relays.append(url) }
        case "addr":
            if addresses.count < Self.maxEntries, let address = SocketAddress(value), address.port != 0,
                !address.isUnspecified
            {
                addresses.append(address)
            }
        case "user-data":
            if userData == nil, value.utf8.count <= Self.maxUserDataBytes { userData = value }
        default: break
        }
    }
}
