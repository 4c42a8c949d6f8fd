internal import CPortMapping
internal import Glibc
internal import MewBase
internal import MewLoop

/// What takes requests about mappings: an Internet Gateway Device.
struct UPnPDevice: Hashable, Sendable {
    /// Its control URL.
    let url: String
    /// `urn:schemas-upnp-org:service:WANIPConnection:1` and the like.
    let service: String
}

/// UPnP with an Internet Gateway Device of this network, by libminiupnpc.
enum UPnPClient {
    /// How long devices may answer a search, in milliseconds.
    static let searchMilliseconds: Int32 = 1000
    /// Devices whose description is read.
    static let maxDevices = 4
    /// External ports that are tried where the wished one is another's.
    static let maxPorts: UInt16 = 3

    static func open(port: UInt16, external: UInt16) -> Result<Mapping, MappingFailure> {
        var last = Result<Mapping, MappingFailure>.failure(.noRouter)
        for description in descriptions() {
            guard let found = device(at: description) else { continue }
            last = open(port: port, external: external, at: found)
            if case .success = last { return last }
        }
        return last
    }

    static func open(port: UInt16, external: UInt16, at device: UPnPDevice) -> Result<Mapping, MappingFailure> {
        guard let own = LocalNetworks.current().own(towards: device.url) else { return .failure(.noRouter) }
        do throws(MappingFailure) {
            let outside = try externalAddress(of: device)
            let request = Request(device: device, own: own, port: port)
            let (given, lifetime) = try request.send(near: external)
            return .success(
                Mapping(
                    .upnp, external: outside.with(port: given), lifetime: lifetime,
                    router: .device(url: device.url, service: device.service)))
        } catch {
            return .failure(error)
        }
    }

    private static func externalAddress(of device: UPnPDevice) throws(MappingFailure) -> SocketAddress {
        var text = [CChar](repeating: 0, count: 64)
        let code = UPNP_GetExternalIPAddress(device.url, device.service, &text)
        guard code == UPNPCOMMAND_SUCCESS else { throw MappingFailure(upnp: code) }
        let words = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let address = SocketAddress("\(words):0"), address.family == .ipv4 else {
            throw .refused(.upnp, "it has no external address")
        }
        return address
    }

    static func release(external: UInt16, at device: UPnPDevice) {
        // One that could not be given back lapses, or stays with a router that has no better idea.
        _ = UPNP_DeletePortMapping(device.url, device.service, "\(external)", "UDP", nil)
    }

    private struct Request {
        let device: UPnPDevice
        let own: String
        let port: UInt16

        /// The external port that was given, and for how long.
        func send(near external: UInt16) throws(MappingFailure) -> (port: UInt16, lifetime: Duration) {
            var code = UPNPCOMMAND_UNKNOWN_ERROR
            for wished in UPnPClient.ports(near: external) {
                for lifetime in [MappingPlan.lifetime, .zero] {
                    code = send(external: wished, lifetime)
                    if code == UPNPCOMMAND_SUCCESS { return (wished, lifetime) }
                    guard code == UPnPClient.onlyPermanentLeases else { break }
                }
                guard code == UPnPClient.conflictInMappingEntry else { break }
            }
            throw MappingFailure(upnp: code)
        }

        private func send(external: UInt16, _ lifetime: Duration) -> Int32 {
            UPNP_AddPortMapping(
                device.url, device.service, "\(external)", "\(port)", own, "mew", "UDP", nil,
                "\(lifetime.components.seconds)")
        }
    }

    // Of WANIPConnection:1, §2.4.16.
    private static let conflictInMappingEntry: Int32 = 718
    private static let onlyPermanentLeases: Int32 = 725

    private static func ports(near port: UInt16) -> [UInt16] {
        (0..<maxPorts).map { port &+ $0 }.filter { $0 > 0 }
    }

    // MARK: - Who is there

    /// Where the devices that answer a search describe themselves; only those that stand in a network of this machine, by address:
    /// whoever answers could name any place, and we would ask there.
    private static func descriptions() -> [String] {
        var error: Int32 = 0
        guard let first = upnpDiscover(searchMilliseconds, nil, nil, UPNP_LOCAL_PORT_ANY, 0, 2, &error) else {
            return []
        }
        defer { freeUPNPDevlist(first) }
        let networks = LocalNetworks.current()
        var urls: [String] = []
        var device = Optional(first)
        while let here = device, urls.count < maxDevices {
            let url = here.pointee.descURL.map { String(cString: $0) } ?? ""
            if networks.hold(url), !urls.contains(url) { urls.append(url) }
            device = here.pointee.pNext
        }
        return urls
    }

    private static func device(at description: String) -> UPnPDevice? {
        var (urls, data) = (UPNPUrls(), IGDdatas())
        var own = [CChar](repeating: 0, count: 64)
        guard UPNP_GetIGDFromUrl(description, &urls, &data, &own, Int32(own.count)) == 1 else { return nil }
        defer { FreeUPNPUrls(&urls) }
        let url = urls.controlURL.map { String(cString: $0) } ?? ""
        let service = withUnsafeBytes(of: data.first.servicetype) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard LocalNetworks.current().hold(url), !service.isEmpty else { return nil }
        return UPnPDevice(url: url, service: service)
    }

}

extension MappingFailure {
    /// - Parameter code: of libminiupnpc: the router's above zero, faults of the connection and of the library below.
    fileprivate init(upnp code: Int32) {
        switch code {
        case UPNPCOMMAND_HTTP_ERROR: self = .noRouter
        case 1...: self = .refused(.upnp, strupnperror(code).map { String(cString: $0) } ?? "error \(code)")
        default: self = .refused(.upnp, "it does not answer as it should")
        }
    }
}
