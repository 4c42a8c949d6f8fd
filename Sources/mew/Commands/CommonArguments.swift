import MewBase
import MewWire

/// Words and options that several commands take.
enum Common {
    static let daemon = Positional<String>(
        "D", "a daemon: its name, node ID, or number in 'mew ls'", read: Readers.text("D"))
    static let session = Positional<String>(
        "S", "a session: its number in 'mew sessions D', or the last characters of its ID (at least 4)",
        read: Readers.text("S"))
    static let address = Option<SocketAddress>(
        "addr", "IP:PORT", "try this address of the daemon first", read: Readers.socketAddress("--addr"))
    static let relay = Option<RelayURL>(
        "relay", "URL", "try this relay of the daemon first", read: Readers.relayURL("--relay"))
    static let relayToken = Option<String>(
        "relay-token", "TEXT", "what the relays of --relay, or else of config.json, are shown; no others are",
        read: Readers.relayToken("--relay-token"))
    static let relayTrust = Option<String>(
        "relay-trust", "FILE", "the authorities (PEM) by which just these relays are believed, not the system's",
        read: Readers.text("--relay-trust"))

    /// Of a command that dials several daemons.
    static let relays = [relay.repeated, relayToken.spec, relayTrust.spec]
    /// Of every command that dials one.
    static let routes = [address.repeated] + relays
}
