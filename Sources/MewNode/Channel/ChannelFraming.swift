import MewBase
import MewWire

/// How messages lie on a stream.
package enum ChannelFraming: Sendable {
    /// Length prefixes, `mew/wire/1`.
    case native
    /// WebSocket frames, `mew/wire/0`, from the side that dialled.
    case webSocketClient
    /// WebSocket frames, from the side that was dialled.
    case webSocketServer

    func make(entropy: any Entropy) -> any MessageFraming {
        switch self {
        case .native: NativeFraming()
        case .webSocketClient: WebSocketFraming(role: .client, entropy: entropy)
        case .webSocketServer: WebSocketFraming(role: .server, entropy: entropy)
        }
    }
}
