public import MewWire

/// What happens at one daemon, in order.
public enum ClientEvent: Sendable, Equatable {
    case phase(LinkPhase)
    /// A message that belongs to no attached session: lists, alerts, changes told to everyone.
    case control(DaemonFrame)
    /// A message of an attached session, new to this client.
    case session(SessionEvent)
    case sessionPhase(SessionID, AttachedSession.Phase)
    /// An operation got further.
    case operation(Operation)
}

/// A message of an attached session.
public struct SessionEvent: Sendable, Equatable {
    public let session: SessionID
    public let frame: DaemonFrame
    /// False while it is being replayed.
    public let isLive: Bool
    /// A `user_message` that this client itself sent.
    public let isOwnEcho: Bool

    public init(session: SessionID, frame: DaemonFrame, isLive: Bool, isOwnEcho: Bool) {
        (self.session, self.frame, self.isLive, self.isOwnEcho) = (session, frame, isLive, isOwnEcho)
    }
}
