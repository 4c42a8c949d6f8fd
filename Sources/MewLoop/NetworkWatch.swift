internal import CSys
package import MewBase

/// What makes everything that was known about ways to others doubtful.
package enum NetworkEvent: Hashable, Sendable {
    /// Addresses of this machine, or the way to the outside, are others now.
    case changed
    /// The machine was asleep for so long.
    case woke(Duration)
}

/// What a machine's network looks like, as far as it decides how packets leave.
package struct NetworkPicture: Sendable {
    /// Of interfaces that are up.
    package let addresses: Set<SocketAddress>
    /// Those that matter to others: without bridges of containers, which come and go with them, and without link-local
    /// addresses, which every end of a container's cable has.
    let lasting: Set<SocketAddress>
    /// Where packets to the outside leave from, by family; without one there is no way to the outside.
    package let outward: [SocketAddress]

    /// Asks the kernel. An interface list that cannot be had is an empty one.
    package static func current() -> NetworkPicture {
        let found = (try? InterfaceAddress.all()) ?? []
        let outward: [SocketAddress] = [4, 6].compactMap { family in
            var address = csys_address()
            return csys_outward_address(Int32(family), &address) == 1 ? SocketAddress(address) : nil
        }
        return NetworkPicture(of: found, outward: outward)
    }

    init(of interfaces: [InterfaceAddress], outward: [SocketAddress]) {
        let up = interfaces.filter(\.isUp)
        addresses = Set(up.map(\.address))
        lasting = Set(up.filter { !$0.isBridge && $0.address.scope == 0 }.map(\.address))
        self.outward = outward
    }

    /// Whether packets leave as they do in `other`.
    func isLike(_ other: NetworkPicture) -> Bool {
        lasting == other.lasting && outward == other.outward
    }
}

/// Gathers what the kernel tells about the network into few events: several changes in a quarter of a second are one, and
/// what leaves the picture as it was (a router that announces itself again) is none.
///
/// `@unchecked Sendable`: made and touched on the loop's thread only; `stop` may be called from anywhere.
package final class NetworkWatch: @unchecked Sendable {
    private let loop: EventLoop
    private var changes: NetworkChanges?
    private var handler: ((NetworkEvent, NetworkPicture) -> Void)?
    private var picture: NetworkPicture
    private var timer: LoopTimer?

    /// A new address comes in several messages: link, address, routes.
    package static let gathering: Duration = .milliseconds(250)

    /// - Parameter handler: called on the loop until `stop`.
    package init(
        on loop: EventLoop, _ handler: @escaping (NetworkEvent, NetworkPicture) -> Void
    ) throws(SystemError) {
        self.loop = loop
        self.handler = handler
        picture = .current()
        changes = try NetworkChanges(on: loop) { [weak self] in self?.noticed() }
        // The loop keeps its wake actions as long as it lives.
        loop.onWake { [weak self] slept in self?.tell(.woke(slept)) }
    }

    private func noticed() {
        guard timer == nil, handler != nil else { return }
        timer = loop.schedule(at: loop.now.advanced(by: Self.gathering)) { [weak self] in self?.gathered() }
    }

    private func gathered() {
        timer = nil
        guard !NetworkPicture.current().isLike(picture) else { return }
        tell(.changed)
    }

    private func tell(_ event: NetworkEvent) {
        picture = .current()
        handler?(event, picture)
    }

    /// Idempotent.
    package func stop() {
        loop.perform {
            self.handler = nil
            self.changes?.close()
            self.changes = nil
            if let timer = self.timer { self.loop.cancel(timer) }
            self.timer = nil
        }
    }
}
