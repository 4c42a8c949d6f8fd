package import MewBase
internal import MewLoop
internal import MewNode
package import MewSim
package import MewWire

/// What was sent one way and what came of it: numbers from 0 on, each with the time of both.
package struct Delivery: Sendable {
    package private(set) var sent: [Instant] = []
    package private(set) var arrived: [Instant] = []
    /// The law that data comes in order and once, broken.
    package private(set) var disorder: String?

    mutating func send(at now: Instant) -> Int {
        sent.append(now)
        return sent.count - 1
    }

    mutating func arrive(_ number: Int?, at now: Instant) {
        guard number == arrived.count, arrived.count < sent.count else {
            disorder =
                disorder ?? "\(number.map(String.init) ?? "a wrong message") came in the place of \(arrived.count)"
            return
        }
        arrived.append(now)
    }

    package var isComplete: Bool { arrived.count == sent.count }

    /// How long after `event` the first message arrived that was sent after it; nil when none has.
    package func recovery(from event: Instant) -> Duration? {
        guard let first = sent.firstIndex(where: { $0 >= event }), first < arrived.count else { return nil }
        return event.duration(to: arrived[first])
    }

    /// Whether something has arrived in each of the last two seconds.
    package func flows(now: Instant) -> Bool {
        let second = Duration.seconds(1)
        let before = now.advanced(by: .zero - second)
        return arrived.contains { $0 > before }
            && arrived.contains { $0 <= before && $0.duration(to: before) < second }
    }

    /// The longest time that a message was under way which was sent before `end`; one that did not arrive counts until `now`.
    package func longestDelay(sentBefore end: Instant, now: Instant) -> Duration {
        sent.indices.prefix { sent[$0] < end }.map { sent[$0].duration(to: $0 < arrived.count ? arrived[$0] : now) }
            .max()
            ?? .zero
    }
}

/// How often each side says something.
package struct Talk: Sendable, Hashable {
    /// Nil: it says nothing.
    package var near: Duration?
    package var far: Duration?
    /// Of each message.
    package var bytes = 64

    package init(near: Duration? = nil, far: Duration? = nil, bytes: Int = 64) {
        (self.near, self.far, self.bytes) = (near, far, bytes)
    }

    /// An agent at work and a person who types.
    package static let both = Talk(near: .milliseconds(100), far: .milliseconds(100))
    /// Only the dialler has something under way.
    package static let nearOnly = Talk(near: .milliseconds(100))
    /// Only the listener has: the dialler cannot know that it is not heard (DESIGN §6).
    package static let farOnly = Talk(far: .milliseconds(100))
    package static let quiet = Talk()
}

/// One link between two peers with a channel for each direction, and what the laws want to know about it: what arrived when,
/// on which paths, and whether the link lives.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class Conversation: @unchecked Sendable {
    package struct PathChange: Sendable, Hashable {
        package let time: Instant
        package let path: LinkPath
    }

    private let world: SimWorld
    private let near: SimPeer
    private let far: SimPeer
    package var talk: Talk

    /// From the dialler to the listener.
    package private(set) var toFar = Delivery()
    package private(set) var toNear = Delivery()
    /// As the dialler sees them. The first is the one the dial has ended on.
    package private(set) var paths: [PathChange] = []
    /// As the listener sees them, in all links that were dialled.
    package private(set) var farPaths: [PathChange] = []
    /// When the dial began, was done, and the first message of the listener came.
    package private(set) var dialled: Instant?
    package private(set) var connected: Instant?
    package private(set) var dialFailure: DialError?
    package private(set) var closure: LinkClosure?
    /// What the dialler says when a relay carries the link.
    package private(set) var whyNotDirect: WhyNotDirect?
    private var isOver = false

    /// How often the path is looked at: shorter than any path is used that does not flicker.
    private static let look: Duration = .milliseconds(40)
    /// A talker that says nothing looks so often whether it is to speak.
    private static let idle: Duration = .milliseconds(100)

    package init(_ world: SimWorld, from near: SimPeer, to far: SimPeer, talk: Talk = .both) {
        (self.world, self.near, self.far, self.talk) = (world, near, far, talk)
        serve()
    }

    package var path: LinkPath? { paths.last?.path }

    /// Says nothing more, from now on.
    package func end() { isOver = true }

    // MARK: - The dialler

    package func dial(_ target: DialTarget) {
        dialled = world.now
        let (node, loop) = (near.node, near.machine.loop)
        loop.spawn { [self] in
            do throws(DialError) {
                let link = try await node.dial(target)
                connected = world.now
                loop.spawn { [self] in closure = await link.closed() ?? closure }
                loop.spawn { [self] in await watch(link) }
                loop.spawn { [self] in await ask(link) }
                await hear(link)
            } catch {
                dialFailure = error
            }
        }
    }

    private func watch(_ link: any Link) async {
        let clock = LoopClock(near.machine.loop)
        while !isOver, closure == nil {
            let status = await link.status()
            let path = status.path
            whyNotDirect = status.whyNotDirect
            if path != paths.last?.path { paths.append(PathChange(time: world.now, path: path)) }
            guard (try? await clock.sleep(for: Self.look)) != nil else { return }
        }
    }

    private func ask(_ link: any Link) async {
        guard let channel = try? await link.openChannel() else { return }
        await speak(on: channel, near, \.toFar, every: \.near)
    }

    private func hear(_ link: any Link) async {
        guard let channel = try? await link.openChannel() else { return }
        // What makes it known to the listener.
        try? await channel.send(Array("listen".utf8))
        while let message = try? await channel.receive() { toNear.arrive(Self.number(message), at: world.now) }
    }

    // MARK: - The listener

    private func serve() {
        let (node, loop) = (far.node, far.machine.loop)
        loop.spawn { [self] in
            while let link = await node.acceptLink() {
                loop.spawn { [self] in await serve(link) }
            }
        }
    }

    private func serve(_ link: any IncomingLink) async {
        let loop = far.machine.loop
        farPaths.append(PathChange(time: world.now, path: await link.status().path))
        await link.observeMoves { [self] in farPaths.append(PathChange(time: world.now, path: $0.to)) }
        await link.authorize(charging: ByteBudget(maxBytes: 64 << 20))
        while let channel = await link.acceptChannel() {
            loop.spawn { [self] in await serve(channel) }
        }
    }

    private func serve(_ channel: any MessageChannel) async {
        guard let first = try? await channel.receive() else { return }
        if first == Array("listen".utf8) { return await speak(on: channel, far, \.toNear, every: \.far) }
        toFar.arrive(Self.number(first), at: world.now)
        while let message = try? await channel.receive() { toFar.arrive(Self.number(message), at: world.now) }
    }

    // MARK: - Talking

    private func speak(
        on channel: any MessageChannel, _ peer: SimPeer, _ delivery: ReferenceWritableKeyPath<Conversation, Delivery>,
        every pause: KeyPath<Talk, Duration?>
    ) async {
        let clock = LoopClock(peer.machine.loop)
        while !isOver {
            if talk[keyPath: pause] != nil {
                let number = self[keyPath: delivery].send(at: world.now)
                guard (try? await channel.send(message(number))) != nil else { return }
            }
            guard (try? await clock.sleep(for: talk[keyPath: pause] ?? Self.idle)) != nil else { return }
        }
        await channel.finish()
    }

    private func message(_ number: Int) -> [UInt8] {
        Array("\(number) ".utf8) + [UInt8](repeating: 0x2e, count: talk.bytes)
    }

    private static func number(_ message: [UInt8]) -> Int? {
        Int(String(decoding: message.prefix { $0 != 0x20 }, as: UTF8.self))
    }
}
