package import MewIdentity
package import MewWire

/// What the daemon's connections need of the sessions; `SessionRegistry` is the one that is.
///
/// The connection has authenticated the peer and checked the scope of each message before it comes here. Every message gets
/// its answer through the client's queue, refusals included: a message on the wrong kind of channel is refused here too.
package protocol SessionService: Sendable {
    /// A stock connection or a native control channel that is authenticated: it gets what goes to everyone.
    /// Session channels are not added; they attach.
    func add(_ client: SessionClient) async

    /// The channel is gone. Detaches it; nothing else ends (DESIGN §8).
    func remove(_ client: SessionClient) async

    /// Handles one message. Returns when what follows from it is decided, so that the messages of one channel, handled one after
    /// the other, take effect in their order.
    ///
    /// - Precondition: `SessionMessages.contains(frame.message.kind)`.
    func handle(_ frame: ClientFrame, from client: SessionClient) async

    /// Sends a message to everyone who was added.
    func broadcast(_ message: DaemonMessage) async

    /// Where the session's files are; nil for an unknown session.
    func workspace(of session: SessionID) async -> SessionWorkspace?

    /// How many sessions there are, for `mew status`.
    func tally() async -> SessionTally

    /// The device may no longer do anything: what it queued is refused, wherever it lies, before this returns (NEEDS N-25). Its
    /// channels are the caller's to close. Once more for a device that was revoked before does what was left undone.
    ///
    /// - Returns: false when some of it could not be reached; it is dropped when its session is used, as long as the device stays
    ///   revoked.
    @discardableResult
    func revoke(_ device: NodeID) async -> Bool

    /// The device was paired, perhaps after it was revoked: it may do things.
    func readmit(_ device: NodeID, as scope: Scope) async

    /// The device may do this from now on: what it queued and needs more is dropped, as with a revocation.
    func limit(_ device: NodeID, to scope: Scope) async

    /// Whether a turn runs that the device began.
    func works(for device: NodeID) async -> Bool

    /// Ends the running turns in order, as interrupted, and keeps what waits for the next start. Afterwards nothing is handled.
    func shutDown() async
}

/// The directory of a session; nil when it has none of its own and works in the home directory.
package struct SessionWorkspace: Hashable, Sendable {
    package let cwd: String?

    package init(cwd: String?) {
        self.cwd = cwd
    }
}

/// How many sessions there are.
package struct SessionTally: Hashable, Sendable {
    package let sessions: Int
    /// Those with a running turn.
    package let running: Int
    /// Those that wait for an answer.
    package let needingYou: Int

    package init(sessions: Int, running: Int, needingYou: Int = 0) {
        (self.sessions, self.running, self.needingYou) = (sessions, running, needingYou)
    }
}

/// Which messages the sessions handle. The others are the connection's own: hello, ping, files, and what is refused.
package enum SessionMessages {
    package static func contains(_ kind: ClientMessage.Kind) -> Bool {
        switch kind {
        case .newSession, .newSessionInGroup, .attachSession, .resumeSession, .loadSessionHistory, .listSessions,
            .deleteSession, .renameSession, .regenerateTitle, .archiveSession, .pinSession, .setAutoTitle,
            .setAutoSummary, .yieldControl, .prompt, .guide, .cancel, .permissionResponse, .askUserResponse,
            .planApprovalResponse, .goalResponse, .slashCommand, .listModels, .switchModel, .setThinkingVariant,
            .setPermissionMode, .forgetAllowedTools, .listPersonas, .switchPersona, .listAgents, .createGroup,
            .updateGroup, .deleteGroup,
            .assignSessionGroup, .listProjects, .pinProject, .unflagFile, .receiptQuery,
            .requestQuery, .lease:
            true
        case .remoteHello, .ping, .listDir, .listFilesystemDir, .readFilePreview, .gitStatus, .watchWorkspace,
            .openPath, .browserOpen, .browserSnapshot, .browserScreenshot, .browserClick, .browserFill,
            .browserPress, .browserClose, .terminalOpen, .terminalInput, .terminalResize, .terminalClose:
            false
        }
    }
}
