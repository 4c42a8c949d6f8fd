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

    /// Of every command that dials.
    static let routes = [address.repeated, relay.repeated]
}
