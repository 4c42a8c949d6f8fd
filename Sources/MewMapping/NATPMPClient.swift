internal import CPortMapping
internal import Glibc
internal import MewBase

/// NAT-PMP (RFC 6886) with the default gateway, by libnatpmp.
enum NATPMPClient {
    /// Given up after 250, 500 and 1000 ms (RFC 6886 §3.1): a gateway in the same network that serves this answers within milliseconds.
    static let tries: Int32 = 3

    static func open(port: UInt16, external: UInt16) -> Result<Mapping, MappingFailure> {
        exchange { gateway throws(MappingFailure) in
            let seconds = UInt32(MappingPlan.lifetime.components.seconds)
            let address = try ask(&gateway) { sendpublicaddressrequest(&$0) }
            let given = try ask(&gateway) {
                sendnewportmappingrequest(&$0, NATPMP_PROTOCOL_UDP, port, external, seconds)
            }
            guard Int32(address.type) == NATPMP_RESPTYPE_PUBLICADDRESS,
                Int32(given.type) == NATPMP_RESPTYPE_UDPPORTMAPPING
            else { throw .refused(.natPMP, "it answered something else") }
            let mapped = given.pnu.newportmapping
            guard mapped.privateport == port, mapped.mappedpublicport != 0, mapped.lifetime != 0 else {
                throw .refused(.natPMP, "it gave no port")
            }
            return Mapping(
                .natPMP,
                external: SocketAddress(
                    ipv4: UInt32(bigEndian: address.pnu.publicaddress.addr.s_addr), port: mapped.mappedpublicport),
                lifetime: .seconds(Int64(mapped.lifetime)), router: .gateway)
        }
    }

    /// RFC 6886 §3.4. Nobody waits for more than the answer: without one it lapses.
    static func release(port: UInt16) {
        let released: Result<Void, MappingFailure> = exchange { gateway throws(MappingFailure) in
            _ = try ask(&gateway) { sendnewportmappingrequest(&$0, NATPMP_PROTOCOL_UDP, port, 0, 0) }
        }
        switch released {
        case .success, .failure: break
        }
    }

    private static func exchange<Value>(
        _ body: (inout natpmp_t) throws(MappingFailure) -> Value
    ) -> Result<Value, MappingFailure> {
        var gateway = natpmp_t()
        let opened = initnatpmp(&gateway, 0, 0)
        guard opened == 0 else {
            return .failure(opened == NATPMP_ERR_CANNOTGETGATEWAY ? .noRouter : .notAsked("NAT-PMP error \(opened)"))
        }
        defer { closenatpmp(&gateway) }
        do throws(MappingFailure) {
            return .success(try body(&gateway))
        } catch {
            return .failure(error)
        }
    }

    private static func ask(
        _ gateway: inout natpmp_t, _ send: (inout natpmp_t) -> Int32
    ) throws(MappingFailure) -> natpmpresp_t {
        let sent = send(&gateway)
        guard sent >= 0 else { throw failure(sent) }
        var answer = natpmpresp_t()
        // Every turn is an answer, or the end of a wait after which the library asks again.
        while gateway.try_number <= tries {
            let code = readnatpmpresponseorretry(&gateway, &answer)
            if code == 0 { return answer }
            guard code == NATPMP_TRYAGAIN else { throw failure(code) }
            wait(gateway)
        }
        throw .noRouter
    }

    /// For an answer, or until it is time to ask again.
    private static func wait(_ gateway: natpmp_t) {
        var (gateway, left) = (gateway, timeval())
        guard getnatpmprequesttimeout(&gateway, &left) == 0 else { return }
        let milliseconds = Int(left.tv_sec) * 1000 + Int(left.tv_usec) / 1000 + 1
        var descriptor = pollfd(fd: gateway.s, events: Int16(POLLIN), revents: 0)
        // An interrupted wait is a short one.
        _ = poll(&descriptor, 1, Int32(clamping: max(milliseconds, 1)))
    }

    private static func failure(_ code: Int32) -> MappingFailure {
        switch code {
        case NATPMP_ERR_NOGATEWAYSUPPORT, NATPMP_ERR_RECVFROM, NATPMP_ERR_SENDERR: .noRouter
        case NATPMP_ERR_NOTAUTHORIZED: .refused(.natPMP, "not authorized")
        case NATPMP_ERR_NETWORKFAILURE: .refused(.natPMP, "it has no external address")
        case NATPMP_ERR_OUTOFRESOURCES: .refused(.natPMP, "it has no ports left")
        case NATPMP_ERR_UNSUPPORTEDVERSION, NATPMP_ERR_UNSUPPORTEDOPCODE: .refused(.natPMP, "it does not know how")
        default: .refused(.natPMP, "error \(code)")
        }
    }
}
