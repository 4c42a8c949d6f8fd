internal import CQuic
internal import Glibc
package import MewBase

/// A path as the connection names it: the number of its synthetic local address, and the remote address.
///
/// ngtcp2 refuses to migrate between paths whose local addresses are equal, and a wildcard socket has only one. So every
/// path of a dialler gets a local address of its own in 100::/64 (the discard prefix, RFC 6666), which the endpoint maps to
/// a socket and a destination; a listener uses one number per carrier (DESIGN §6).
package struct CorePath: Hashable, Sendable {
    package let number: UInt32
    package let remote: SocketAddress

    package init(number: UInt32, remote: SocketAddress) {
        self.number = number
        self.remote = remote
    }
}

extension sockaddr_in6 {
    /// IPv4 addresses travel as `::ffff:a.b.c.d`, so that the library sees one family.
    init(_ address: SocketAddress) {
        self.init()
        sin6_family = sa_family_t(AF_INET6)
        sin6_port = address.port.bigEndian
        sin6_scope_id = address.scope
        let (high, low): (UInt64, UInt64) =
            switch address.family {
            case .ipv4: (0, 0xffff_0000_0000 | UInt64(address.ipv4))
            case .ipv6: (address.high, address.low)
            }
        withUnsafeMutableBytes(of: &sin6_addr) { bytes in
            bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
            bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
    }

    init(pathNumber: UInt32) {
        self.init(SocketAddress(ipv6High: 0x0100_0000_0000_0000, low: UInt64(pathNumber), port: 0))
    }

    var address: SocketAddress {
        withUnsafeBytes(of: sin6_addr) { bytes in
            SocketAddress(
                ipv6High: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                port: UInt16(bigEndian: sin6_port), scope: sin6_scope_id)
        }
    }
}

/// Heap memory for one `ngtcp2_path` and the two addresses it points to.
///
/// ngtcp2's own path storage holds pointers into itself, so it must never be copied or moved. A storage is either set by us
/// or written by the library, never both.
final class PathStorage {
    private let storage: UnsafeMutablePointer<ngtcp2_path_storage>
    /// What was set last: most packets come on the same path as the one before.
    private var last: CorePath?

    init() {
        storage = .allocate(capacity: 1)
        storage.initialize(to: ngtcp2_path_storage())
        ngtcp2_path_storage_zero(storage)
    }

    deinit {
        storage.deallocate()
    }

    /// Valid as long as the storage.
    var pointer: UnsafeMutablePointer<ngtcp2_path> {
        UnsafeMutableRawPointer(storage).assumingMemoryBound(to: ngtcp2_path.self)
    }

    func set(_ path: CorePath) {
        guard path != last else { return }
        last = path
        var local = sockaddr_in6(pathNumber: path.number)
        var remote = sockaddr_in6(path.remote)
        let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        withUnsafePointer(to: &local) { local in
            withUnsafePointer(to: &remote) { remote in
                ngtcp2_addr_copy_byte(
                    &pointer.pointee.local, UnsafeRawPointer(local).assumingMemoryBound(to: sockaddr.self), size)
                ngtcp2_addr_copy_byte(
                    &pointer.pointee.remote, UnsafeRawPointer(remote).assumingMemoryBound(to: sockaddr.self), size)
            }
        }
    }

    var path: CorePath { CorePath(pointer.pointee) }

    func isSamePath(as other: PathStorage) -> Bool {
        ngtcp2_path_eq(pointer, other.pointer) != 0
    }
}

extension CorePath {
    /// Reads a path that was made by `PathStorage.set`.
    init(_ path: ngtcp2_path) {
        number = Self.load(path.local).map { UInt32(truncatingIfNeeded: $0.address.low) } ?? 0
        remote = Self.load(path.remote)?.address ?? .anyIPv6
    }

    private static func load(_ address: ngtcp2_addr) -> sockaddr_in6? {
        guard let start = address.addr, Int(address.addrlen) == MemoryLayout<sockaddr_in6>.size else { return nil }
        return UnsafeRawPointer(start).loadUnaligned(as: sockaddr_in6.self)
    }
}
