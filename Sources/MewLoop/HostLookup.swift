internal import CSys
package import MewBase

/// Asks the system for the addresses of a host name. The system's resolver blocks, so it runs on a loop of its own.
package struct HostLookup: Sendable {
    /// The system found nothing, and says why.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        package let host: String
        package let reason: String

        package var description: String { "no address for \(host.printable(limit: 64)): \(reason)" }
    }

    /// More are never tried by one dial.
    package static let maxAddresses = 8

    private let loop: BlockingLoop

    /// - Parameter loop: blocks for as long as the resolver takes, which may be many seconds.
    package init(blocking loop: BlockingLoop) {
        self.loop = loop
    }

    /// At least one address, in the order they should be tried. An IP address needs no resolver.
    ///
    /// A cancelled task gets its answer late: the resolver cannot be interrupted.
    package func addresses(of host: String, port: UInt16) async throws(Failure) -> [SocketAddress] {
        if let address = Self.literal(host, port: port) { return [address] }
        guard !host.utf8.contains(0) else { throw Failure(host: host, reason: "not a host name") }
        let found = await loop.spawn { Self.resolve(host, port: port) }.value
        return try found.get()
    }

    /// `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`.
    private static func literal(_ host: String, port: UInt16) -> SocketAddress? {
        let bracketed = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return SocketAddress("\(bracketed):\(port)")
    }

    private static func resolve(_ host: String, port: UInt16) -> Result<[SocketAddress], Failure> {
        var found = [csys_address](repeating: csys_address(), count: maxAddresses)
        let count = csys_resolve(host, port, &found, Int32(maxAddresses))
        guard count >= 0 else {
            let reason = csys_resolve_reason(count).map { String(cString: $0) } ?? "error \(count)"
            return .failure(Failure(host: host, reason: reason.prefix(1).lowercased() + reason.dropFirst()))
        }
        guard count > 0 else { return .failure(Failure(host: host, reason: "it has no IP address")) }
        return .success(found.prefix(Int(count)).map { SocketAddress($0) })
    }
}
