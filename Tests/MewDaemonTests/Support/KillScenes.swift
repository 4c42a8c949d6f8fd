import MewWire
import Testing

/// What happens until the daemon is killed. Each ends with something that was sent or has come, so that no scene depends on the
/// speed of the machine.
struct KillScene: Sendable, CustomTestStringConvertible {
    let name: String
    let act: @Sendable (KillStage) async throws -> Void

    init(_ name: String, _ act: @escaping @Sendable (KillStage) async throws -> Void) {
        (self.name, self.act) = (name, act)
    }

    var testDescription: String { name }

    static let all =
        starts + recoveries + newSessions + queues + guidance + cancels + answers + settings + erasures + reading
        + crowds + asking + gaps

    // MARK: - The daemon alone

    private static let starts = [
        KillScene("its first start, the key is made") { stage in try await stage.start(until: .file("node.key")) },
        KillScene("its start after a crash, the process is there") { stage in
            try await stage.crash()
            try await stage.start(until: .process)
        },
        KillScene("its start after a crash, the control socket is there") { stage in
            try await stage.crash()
            try await stage.start(until: .file("control.sock"))
        },
    ]

    private static let recoveries = [
        KillScene("recovery, the session is asked for") { stage in _ = try await stage.comeBackToCrash() },
        KillScene("recovery, the session is shown") { stage in
            try await stage.comeBackToCrash().hear(.sessionReady)
        },
        KillScene("recovery, the page is there") { stage in
            try await stage.comeBackToCrash().hear(.sessionHistoryPage)
        },
        KillScene("recovery, everything is told") { stage in try await stage.comeBackToCrash().hear(.caughtUp) },
    ]

    // MARK: - Sessions and queues

    private static let newSessions = [
        KillScene("a new session is asked for, nothing has come back") { stage in _ = try await stage.open() },
        KillScene("a new session is stored") { stage in
            let laptop = try await stage.open()
            try await laptop.hear(laptop.asked[0].operation, is: .done)
        },
        KillScene("a new session is shown") { stage in try await stage.open().hear(.sessionReady) },
    ]

    private static let queues = [
        KillScene("a second prompt is sent while the first one asks") { stage in
            let laptop = try await stage.begin()
            try await laptop.prompt()
            _ = try await laptop.nextRequest()
            try await laptop.prompt()
        },
        KillScene("a second prompt is stored while the first one asks") { stage in
            let laptop = try await stage.begin()
            try await laptop.prompt()
            _ = try await laptop.nextRequest()
            let second = try await laptop.prompt()
            try await laptop.hear(second, is: .stored)
        },
    ]

    private static let guidance = [
        KillScene("guidance is sent while the output streams") { stage in
            try await stage.stream().ask(.guide(.init(text: "faster")))
        },
        KillScene("guidance is taken while the output streams") { stage in
            let laptop = try await stage.stream()
            let guide = try await laptop.ask(.guide(.init(text: "faster")))
            try await laptop.hear(guide, is: .done)
        },
    ]

    private static let cancels = [
        KillScene("a cancel is sent") { stage in try await stage.stream().ask(.cancel(.init())) },
        KillScene("a cancel is done") { stage in
            let laptop = try await stage.stream()
            let cancel = try await laptop.ask(.cancel(.init()))
            try await laptop.hear(cancel, is: .done)
        },
        KillScene("a cancelled turn has ended") { stage in
            let laptop = try await stage.stream()
            try await laptop.ask(.cancel(.init()))
            try await laptop.hear(.sessionActivityChanged)
        },
    ]

    // MARK: - Answers

    private static let answers = [
        KillScene("a denial is sent") { stage in
            let laptop = try await stage.begin()
            try await laptop.prompt()
            try await laptop.answerNext(.deny)
        },
        KillScene("a denial is settled") { stage in
            let laptop = try await stage.begin()
            try await laptop.prompt()
            try await laptop.answerNext(.deny)
            try await laptop.hear(.answerVerdict)
        },
        KillScene("a permission for the session is sent") { stage in
            let laptop = try await stage.begin()
            try await laptop.prompt()
            try await laptop.answerNext(.allowSession)
        },
        KillScene("the next prompt runs by the permission for the session") { stage in
            let laptop = try await stage.begin()
            let first = try await laptop.prompt()
            try await laptop.answerNext(.allowSession)
            try await laptop.hear(first, is: .done)
            try await laptop.prompt()
            try await laptop.hear(.toolEnd)
        },
    ]

    // MARK: - Settings

    private static let settings = [
        KillScene("a permission mode is sent") { stage in
            try await stage.begin().ask(.setPermissionMode(.init(mode: "dangerous")))
        },
        KillScene("a permission mode holds") { stage in
            let laptop = try await stage.begin()
            try await laptop.ask(.setPermissionMode(.init(mode: "dangerous")))
            try await laptop.hear(.permissionModeChanged)
            try await laptop.prompt()
        },
        KillScene("a thinking variant waits for the turn") { stage in
            let laptop = try await stage.stream()
            let setting = try await laptop.ask(.setThinkingVariant(.init(variant: "none")))
            try await laptop.hear(setting, is: .stored)
        },
        KillScene("a thinking variant is set") { stage in
            let laptop = try await stage.begin()
            let setting = try await laptop.ask(.setThinkingVariant(.init(variant: "none")))
            try await laptop.hear(setting, is: .done)
        },
        KillScene("a title is sent") { stage in
            let laptop = try await stage.begin()
            guard let session = laptop.session else { return }
            try await laptop.ask(.renameSession(.init(sessionID: session, title: "kept")))
        },
    ]

    private static let erasures = [
        KillScene("/clear is sent") { stage in
            let laptop = try await stage.begin()
            let prompt = try await laptop.prompt()
            try await laptop.answerNext()
            try await laptop.hear(prompt, is: .done)
            try await laptop.ask(.slashCommand(.init(command: "/clear")))
        },
        KillScene("/clear is done") { stage in
            let laptop = try await stage.begin()
            let prompt = try await laptop.prompt()
            try await laptop.answerNext()
            try await laptop.hear(prompt, is: .done)
            let clear = try await laptop.ask(.slashCommand(.init(command: "/clear")))
            try await laptop.hear(clear, is: .done)
        },
        KillScene("deleting is sent while a prompt waits") { stage in
            let laptop = try await stage.begin()
            try await laptop.prompt()
            _ = try await laptop.nextRequest()
            let second = try await laptop.prompt()
            try await laptop.hear(second, is: .stored)
            guard let session = laptop.session else { return }
            try await laptop.ask(.deleteSession(.init(sessionID: session)))
        },
        KillScene("deleting is done while the output streamed") { stage in
            let laptop = try await stage.stream()
            guard let session = laptop.session else { return }
            let delete = try await laptop.ask(.deleteSession(.init(sessionID: session)))
            try await laptop.hear(delete, is: .done)
        },
    ]

    // MARK: - Who only reads, and several

    private static let reading = [
        KillScene("a page of the history is asked for") { stage in
            let laptop = try await stage.begin()
            let prompt = try await laptop.prompt()
            try await laptop.answerNext()
            try await laptop.hear(prompt, is: .done)
            guard let session = laptop.session else { return }
            try await laptop.request(.loadSessionHistory(.init(sessionID: session, before: 2)))
        },
        KillScene("what a gap left out is asked for while the output streams") { stage in
            let laptop = try await stage.stream()
            guard let session = laptop.session else { return }
            try await laptop.request(.resumeSession(.init(sessionID: session, afterSequence: .zero)))
        },
        KillScene("what a gap left out is there again while the output streams") { stage in
            let laptop = try await stage.stream()
            guard let session = laptop.session else { return }
            try await laptop.request(.resumeSession(.init(sessionID: session, afterSequence: .zero)))
            try await laptop.hear(.caughtUp)
        },
    ]

    private static let crowds = [
        KillScene("three devices see the question") { stage in
            let devices = try await stage.gather()
            try await devices[0].prompt()
            for device in devices { _ = try await device.nextRequest() }
        },
        KillScene("one of three devices has answered, and all have heard it") { stage in
            let devices = try await stage.gather()
            try await devices[0].prompt()
            for device in devices.dropLast() { _ = try await device.nextRequest() }
            try await devices[2].answerNext()
            for device in devices { try await device.hear(.requestResolved) }
        },
        KillScene("each of three devices has a prompt of its own in the queue") { stage in
            let devices = try await stage.gather()
            for device in devices {
                let prompt = try await device.prompt()
                try await device.hear(prompt, is: .stored)
            }
        },
    ]
}
