internal import CSys
internal import Glibc
package import MewBase

/// One address of this machine.
package struct InterfaceAddress: Hashable, Sendable {
    package let interface: String
    /// Port 0; a link-local address has its scope.
    package let address: SocketAddress
    package let prefixLength: Int
    package let isUp: Bool
    package let isLoopback: Bool
    /// A tunnel, most likely.
    package let isPointToPoint: Bool
    /// It joins containers or virtual machines of this machine: nobody outside reaches us there (NEEDS N-12).
    package let isBridge: Bool

    /// Every address of every interface, in the order of the kernel; at most 256.
    package static func all() throws(SystemError) -> [InterfaceAddress] {
        var count: Int32 = 0
        let found = [csys_interface](unsafeUninitializedCapacity: 256) { buffer, filled in
            count = csys_interfaces(buffer.baseAddress, Int32(buffer.count))
            filled = max(0, Int(count))
        }
        _ = try checked(count, "listing the network interfaces")
        return found.map(InterfaceAddress.init)
    }

    package init(
        _ interface: String, _ address: SocketAddress, prefixLength: Int = 24, isUp: Bool = true,
        isLoopback: Bool = false, isPointToPoint: Bool = false, isBridge: Bool = false
    ) {
        (self.interface, self.address, self.prefixLength) = (interface, address, prefixLength)
        (self.isUp, self.isLoopback) = (isUp, isLoopback)
        (self.isPointToPoint, self.isBridge) = (isPointToPoint, isBridge)
    }

    private init(_ found: csys_interface) {
        interface = withUnsafeBytes(of: found.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        address = SocketAddress(found.address)
        prefixLength = Int(found.prefix_length)
        isUp = found.is_up != 0
        isLoopback = found.is_loopback != 0
        isPointToPoint = found.is_point_to_point != 0
        isBridge = found.is_bridge != 0
    }
}

/// Tells when addresses, links or routes of this machine change (netlink), several changes of one turn as one.
///
/// It lives until `close`. Touched on the loop's thread only.
package final class NetworkChanges {
    private let loop: EventLoop
    private var handler: (() -> Void)?
    private let descriptor: Int32
    private var watch: DescriptorWatch?

    /// - Parameter handler: called on the loop. It says that something changed, not what: look again.
    package init(on loop: EventLoop, _ handler: @escaping () -> Void) throws(SystemError) {
        loop.checkIsolated()
        self.loop = loop
        descriptor = try checked(csys_network_changes_open(), "watching the network interfaces")
        self.handler = handler
        watch = try loop.watch(descriptor, for: .readable) { _ in self.readable() }
    }

    private func readable() {
        if csys_network_changes_read(descriptor) != 0 { handler?() }
    }

    /// Idempotent. The handler is not called again.
    package func close() {
        guard let watch else { return }
        loop.unwatch(watch)
        self.watch = nil
        handler = nil
    }

    deinit {
        csys_close(descriptor)
    }
}
