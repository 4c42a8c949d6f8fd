package import MewWire

/// Which requests this daemon answers, of whom and where: the one place that enforces scopes and channels for every message
/// type (DESIGN §11, spec/native-wire.md §1 and §5).
package enum RequestRules {
    /// Where a request arrived.
    package enum Place: Hashable, Sendable, CaseIterable {
        /// The first channel of a native link.
        case control
        /// A further channel of a native link, before its first message.
        case newChannel
        /// The same once a session is attached to it.
        case sessionChannel
        /// The only channel of a stock link.
        case stock
        case stockAttached

        var isNative: Bool {
            switch self {
            case .control, .newChannel, .sessionChannel: true
            case .stock, .stockAttached: false
            }
        }
    }

    package struct Refusal: Error, Equatable, Sendable {
        package let code: ErrorCode
        package let sentence: String
    }

    /// - Parameter hasOperation: the request carries an `op_id`.
    package static func check(
        _ kind: ClientMessage.Kind, at place: Place, scope: Scope, hasOperation: Bool
    ) throws(Refusal) {
        guard kind.isServed else {
            throw Refusal(code: .unknownType, sentence: "this daemon does not serve \(kind.rawValue) yet")
        }
        guard scope >= kind.neededScope else {
            // The exact words of the stock daemon (spec/mew-wire.md §2.4).
            throw Refusal(
                code: .scope, sentence: "remote access scope `\(scope.rawValue)` does not allow this operation")
        }
        try checkPlace(kind, place)
        guard !place.isNative || !kind.changesSomething || hasOperation else {
            throw Refusal(code: .opIDRequired, sentence: "\(kind.rawValue) needs an op_id")
        }
    }

    private static func checkPlace(_ kind: ClientMessage.Kind, _ place: Place) throws(Refusal) {
        switch (place, kind.channel) {
        case (.control, .control), (.newChannel, .opensSession), (.sessionChannel, .session), (.stockAttached, _),
            (.stock, .control), (.stock, .opensSession):
            return
        case (.stock, .session):
            // Listing and paging need no attachment in the stock daemon.
            guard kind != .loadSessionHistory else { return }
            // The exact words, em dash included (spec/mew-wire.md §4.4).
            throw Refusal(code: .badInput, sentence: "no session — send NewSession or AttachSession first")
        case (.control, .opensSession), (.control, .session):
            throw Refusal(code: .wrongChannel, sentence: "\(kind.rawValue) belongs on the channel of its session")
        case (.newChannel, .control), (.sessionChannel, .control):
            throw Refusal(code: .wrongChannel, sentence: "\(kind.rawValue) belongs on the first channel")
        case (.newChannel, .session):
            throw Refusal(code: .wrongChannel, sentence: "the first message must attach to a session or make one")
        case (.sessionChannel, .opensSession):
            throw Refusal(code: .wrongChannel, sentence: "this channel has its session; open another one")
        }
    }
}

extension ClientMessage.Kind {
    /// False for what is defined and comes with a later version: refused by code, so that a newer client can tell.
    package var isServed: Bool {
        switch self {
        case .remoteHello, .ping, .listSessions, .newSession, .attachSession, .resumeSession, .loadSessionHistory,
            .deleteSession, .renameSession, .archiveSession, .pinSession, .setAutoTitle, .setAutoSummary, .prompt,
            .guide, .cancel, .permissionResponse, .askUserResponse, .planApprovalResponse, .goalResponse, .listModels,
            .switchModel, .setPermissionMode, .listPersonas, .listAgents, .listProjects, .listDir, .receiptQuery:
            true
        case .newSessionInGroup, .regenerateTitle, .yieldControl, .slashCommand, .setThinkingVariant, .switchPersona,
            .createGroup, .updateGroup, .deleteGroup, .assignSessionGroup, .pinProject, .listFilesystemDir,
            .readFilePreview, .gitStatus, .watchWorkspace, .openPath, .unflagFile, .lease, .browserOpen,
            .browserSnapshot, .browserScreenshot, .browserClick, .browserFill, .browserPress, .browserClose,
            .terminalOpen, .terminalInput, .terminalResize, .terminalClose:
            false
        }
    }
}
