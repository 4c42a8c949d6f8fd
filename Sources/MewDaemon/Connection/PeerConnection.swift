import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewWire

/// One connection of one peer: admits it, then serves its channels.
///
/// Runs on the daemon's loop. Decisions about admission are `Admission`'s; this actor performs them. Its events come through
/// one queue, so that what the pairing window, the timer and the operator decide is done in that order.
actor PeerConnection {
    /// What happens to a connection from outside its channels.
    enum Event: Sendable {
        /// The first one.
        case accepted
        case admission(Admission.Event)
        case deadline
        /// The device was renamed or has another scope.
        case device(Device)
        case revoked(atMs: UInt64, reason: String)
        case shutDown(reason: String)
    }

    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated let number: ConnectionNumber
    nonisolated let link: any IncomingLink
    nonisolated let acceptedAt: Instant
    nonisolated var node: NodeID { link.peer }

    let loop: any Loop
    let daemon: Daemon
    /// Known once the peer is in; changes while it is.
    var device: Device?
    /// What the peer's program calls itself.
    var app: String?
    /// What it may make us keep; known once the peer is in.
    private(set) var allowance: ConnectionAllowance?
    /// Session channels that are open.
    var sessionChannels = 0
    /// The first channel.
    private var first: (any MessageChannel)?
    /// The sessions' hold on it, once the peer is in.
    private(set) var control: SessionClient?

    private var admission: Admission
    /// Opens when the peer is in, closes when it is to be heard no more.
    private let gate = Gate()
    /// Closes when the link is gone.
    private let ended = Gate()
    private var isClosing = false
    /// Nil for a peer that says none.
    private var greeting: Admission.Hello?
    private var timer: LoopTimer?
    private let events: AsyncStream<Event>
    private let inbox: AsyncStream<Event>.Continuation

    /// More than one connection can cause before it is closed; what comes beyond is not needed any more.
    private static let maxEvents = 64
    /// How long a peer may take to read the last message before the link is closed under it. Well below the second that a
    /// revocation may take (DESIGN §11), above the round trip of most links.
    private static let linger: Duration = .milliseconds(250)

    init(
        _ number: ConnectionNumber, link: any IncomingLink, standing: Admission.Standing, daemon: Daemon,
        loop: any Loop
    ) {
        self.number = number
        self.link = link
        self.daemon = daemon
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
        acceptedAt = loop.now
        admission = Admission(link.applicationProtocol, standing: standing, acceptedAt: loop.now)
        (events, inbox) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maxEvents))
        inbox.yield(.accepted)
    }

    /// From any isolation; in the order of the calls.
    nonisolated func post(_ event: Event) {
        inbox.yield(event)
    }

    /// The optional capabilities that the peer offered.
    var offered: Set<String> {
        Set(greeting?.capabilities ?? []).intersection(Admission.optionalCapabilities)
    }

    /// True for a key that may enter only through the pairing window.
    var isStranger: Bool { admission.isStranger }

    /// True while the peer is to be heard.
    var isReady: Bool { admission.isReady && !isClosing }

    // MARK: Life

    /// Returns when the link is gone and everything that served it has ended.
    func run() async {
        if !isStranger { await link.recognize() }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.handleEvents() }
            group.addTask { await self.acceptChannels() }
            let closure = await link.closed()
            if let device {
                let reason = closure?.sentence ?? "the daemon is ending"
                daemon.note(.info, "device_disconnected", "\(device.name) is disconnected: \(reason)", of: self)
            }
            inbox.finish()
            gate.close()
            ended.close()
            control?.end()
        }
        cancelTimer()
    }

    /// Each event in a task of its own: what a task once needed for its deepest call it keeps to its end, and this one lives
    /// as long as the connection (8 KiB of an idle one).
    private func handleEvents() async {
        for await event in events { await loop.spawn { await self.handle(event) }.value }
    }

    private func handle(_ event: Event) async {
        switch event {
        case .accepted: await perform(admission.begin())
        case .admission(let event): await perform(admission.receive(event))
        case .deadline: await perform(admission.deadlinePassed(now: loop.now))
        case .device(let device): self.device = device
        case .revoked(let atMs, let reason): await revoke(atMs: atMs, reason: reason)
        case .shutDown(let reason): await close(.shuttingDown, reason)
        }
        armTimer()
    }

    private func acceptChannels() async {
        await withDiscardingTaskGroup { group in
            while let channel = await link.acceptChannel() {
                if first == nil {
                    first = channel
                    group.addTask { await self.serveFirst(channel) }
                } else if link.applicationProtocol == .native {
                    if !isReady { post(.admission(.channel)) }
                    group.addTask { await self.serveSession(channel) }
                } else {
                    // "A second stream is never read" (spec/mew-wire.md §1.2).
                    await channel.reset(code: FramingCode.violation)
                }
            }
        }
    }

    // MARK: Admission

    /// The first message of the first channel. True when the peer may go on.
    func greeted(_ greeting: Admission.Greeting) async -> Bool {
        if case .hello(let hello) = greeting { self.greeting = hello }
        post(.admission(.greeted(greeting)))
        return await gate.passed()
    }

    /// Suspends a further channel until the peer is in. False when it never will be.
    func mayEnter() async -> Bool { await gate.passed() }

    func firstChannelEnded() {
        post(.admission(.ended))
    }

    private func perform(_ actions: [Admission.Action]) async {
        var hasLastWords = false
        for action in actions {
            switch action {
            case .judge:
                await link.keepWaiting()
                await daemon.judge(await hello())
            case .welcome(let answerHello): await welcome(answerHello: answerHello)
            case .tellPending(let duration):
                await tell(.pairPending(.init(expiresInSeconds: UInt64(clamping: duration.components.seconds))))
            case .sendError(let sentence, let code):
                await tell(.error(.init(message: sentence, code: code)))
                hasLastWords = true
            case .close(let code, let reason): await close(code, reason, hasLastWords: hasLastWords)
            case .handleFirstMessage: break  // the reader goes on with the message it holds
            }
        }
    }

    /// What the pairing window has to know of this connection.
    private func hello() async -> PairingWindow.Hello {
        let isNative = link.applicationProtocol == .native
        let exported =
            isNative ? try? await link.export(label: PairingDigits.label, byteCount: PairingDigits.byteCount) : nil
        return PairingWindow.Hello(
            connection: number, node: node, name: greeting.flatMap { $0.name.isEmpty ? nil : $0.name },
            code: greeting?.code,
            digits: exported.map(PairingDigits.text), source: PairingSource(await link.status().path))
    }

    /// A message to somebody who is not in, and so has no queue.
    private func tell(_ message: DaemonMessage) async {
        guard let first, let frame = DaemonFrame(message).encoded(for: link.applicationProtocol) else { return }
        await withTimeLimit(Self.linger, on: loop) {
            // Whoever does not hear it hears the close.
            try? await first.send(frame)
        }
    }

    private func welcome(answerHello: Bool) async {
        guard let device = await daemon.joined(self) else { return await close(.unauthorized, "unauthorized") }
        let allowance = ConnectionAllowance(within: await daemon.allowance(of: node))
        let role: SessionClient.Role = link.applicationProtocol == .native ? .control : .stock
        let client = await daemon.client(role, of: device, within: allowance, capabilities: offered)
        (self.device, self.allowance, control) = (device, allowance, client)
        await link.authorize(charging: allowance.bytes)
        await noteMoves(of: device.name)
        // Before anything that goes to everybody.
        if answerHello { sendReady() }
        await daemon.sessions.add(client)
        // From here on changes come by themselves. Stock peers know no such message.
        if link.applicationProtocol == .native, let reach = await daemon.reach { client.reply(.reach(reach)) }
        let saving = await daemon.saving
        if !saving.isSaving { client.tell(.daemonState(saving.message)) }
        gate.open()
    }

    /// Also the answer to a hello that comes again (spec/mew-wire.md §2.5, D3).
    func sendReady() {
        guard let device else { return }
        control?.reply(.remoteReady(daemon.ready(for: device)))
    }

    // MARK: The end

    private func revoke(atMs: UInt64, reason: String) async {
        let at = WallTime(milliseconds: Int64(clamping: atMs))
        control?.reply(.revoked(.init(at: at, reason: reason)))
        await close(
            link.applicationProtocol == .native ? .revoked : .unauthorized, reason,
            hasLastWords: link.applicationProtocol == .native)
    }

    /// Hears the peer no more and closes the link.
    ///
    /// - Parameter hasLastWords: a message was queued that the peer should read; a close overtakes what is on its way.
    func close(_ code: CloseCode, _ reason: String, hasLastWords: Bool = false) async {
        // The first reason is the one the peer is told.
        guard !isClosing else { return }
        isClosing = true
        gate.close()
        control?.end()
        if hasLastWords { await withTimeLimit(Self.linger, on: loop) { [ended] in _ = await ended.passed() } }
        await link.close(code: code, reason: reason)
    }

    // MARK: Time

    private func armTimer() {
        cancelTimer()
        guard let deadline = admission.nextDeadline else { return }
        timer = loop.schedule(at: deadline) { [weak self] in self?.post(.deadline) }
    }

    private func cancelTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }
}

/// What framing violations reset a stream with (spec/native-wire.md §1).
enum FramingCode {
    static let violation: UInt64 = 0x103
}
