internal import MewWire

/// The channel of an attached session; on stock links the one channel of the connection.
struct SessionChannel {
    let channel: any MessageChannel
    /// Tells a channel from the one that replaced it: what still arrives on the old one is not the session's any more.
    let generation: UInt64
}
