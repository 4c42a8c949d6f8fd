internal import MewBase
internal import MewLoop

/// Asks routers. An answer takes seconds at most; whoever is cancelled waits no longer, and what was asked goes on.
package protocol Routers: Sendable {
    typealias Answer = Result<Mapping, MappingFailure>

    /// - Parameters:
    ///   - port: of our UDP socket.
    ///   - external: the external port that is wished for; the router may give another one.
    func open(port: UInt16, external: UInt16) async -> Answer
    /// Asks the same router for the same port again.
    func prolong(_ mapping: Mapping, port: UInt16) async -> Answer
    func release(_ mapping: Mapping, port: UInt16) async
}

/// The routers of the network that this machine is in: the default gateway by NAT-PMP, then whoever announces itself by UPnP.
/// The libraries block, on a thread of their own.
package struct NetworkRouters: Routers {
    private let thread = RouterThread()

    package init() {}

    package func open(port: UInt16, external: UInt16) async -> Answer {
        await ask { Self.open(port: port, external: external) }
    }

    package func prolong(_ mapping: Mapping, port: UInt16) async -> Answer {
        let external = mapping.external.port
        return await ask {
            let answer = Self.again(mapping.router, port, external)
            // A device that was restarted takes requests elsewhere, and another may have taken its place.
            guard case .failure(.noRouter) = answer else { return answer }
            return Self.open(port: port, external: external)
        }
    }

    package func release(_ mapping: Mapping, port: UInt16) async {
        let external = mapping.external.port
        await thread.run(otherwise: ()) {
            switch mapping.router {
            case .gateway: NATPMPClient.release(port: port)
            case .device(let url, let service):
                UPnPClient.release(external: external, at: UPnPDevice(url: url, service: service))
            }
        }
    }

    private func ask(_ question: @escaping @Sendable () -> Answer) async -> Answer {
        await thread.run(otherwise: .failure(.notAsked("no thread for it")), question)
    }

    private static func again(_ router: MappingRouter, _ port: UInt16, _ external: UInt16) -> Answer {
        switch router {
        case .gateway: NATPMPClient.open(port: port, external: external)
        case .device(let url, let service):
            UPnPClient.open(port: port, external: external, at: UPnPDevice(url: url, service: service))
        }
    }

    private static func open(port: UInt16, external: UInt16) -> Answer {
        // Without a way out there is no router; the libraries complain of that on standard error.
        guard NetworkPicture.current().outward.contains(where: { $0.family == .ipv4 }) else {
            return .failure(.noRouter)
        }
        let first = NATPMPClient.open(port: port, external: external)
        switch first {
        case .success(let mapping) where !mapping.external.isInternal: return first
        // A gateway that serves both may know its address by one of them only.
        case .success, .failure: return better(first, UPnPClient.open(port: port, external: external))
        }
    }

    /// What came of both: a mapping, else what says more than that nobody answered.
    static func better(_ first: Answer, _ second: Answer) -> Answer {
        switch (first, second) {
        case (_, .success): second
        case (.success, .failure): first
        case (.failure(.noRouter), .failure): second
        case (.failure, .failure): first
        }
    }
}
