internal import CSys
internal import Glibc
internal import MewBase

extension csys_address {
    init(_ address: SocketAddress) {
        self.init(
            high: address.high, low: address.low, scope: address.scope, port: address.port,
            family: address.family == .ipv4 ? 4 : 6)
    }
}

extension SocketAddress {
    init(_ address: csys_address) {
        self =
            address.family == 4
            ? SocketAddress(ipv4: UInt32(truncatingIfNeeded: address.high >> 32), port: address.port)
            : SocketAddress(ipv6High: address.high, low: address.low, port: address.port, scope: address.scope)
    }
}

extension ReceivedDatagrams {
    init(_ received: csys_received) {
        self.init(
            bytes: UnsafeRawBufferPointer(start: received.bytes, count: Int(received.count)),
            segmentSize: Int(received.segment), from: SocketAddress(received.from), to: SocketAddress(received.to),
            ecn: received.ecn)
    }
}

extension SocketError {
    init(errno: Int32, binding address: SocketAddress) {
        self =
            switch errno {
            case EADDRINUSE: .addressInUse(address)
            case EADDRNOTAVAIL: .addressNotAvailable(address)
            case EACCES, EPERM: .permissionDenied(address)
            case EAFNOSUPPORT: .familyNotSupported
            default: .system(errno: errno, doing: "binding \(address)")
            }
    }
}
