package import MewBase
import MewIdentity
import MewLoop
import MewQUIC

/// Why a node could not start. `problem` says what was tried and what stopped it, `advice` one thing to do.
package enum NodeError: Error, Sendable, CustomStringConvertible {
    case portTaken(SocketAddress)
    case noSuchAddress(SocketAddress)
    case notPermitted(SocketAddress)
    /// Neither IPv4 nor IPv6 works here.
    case noNetwork
    case failed(String)

    init(_ failure: BindFailure) {
        switch failure {
        case .identity(let reason): self = .failed("the TLS library refused our key: \(reason)")
        case .socket(.addressInUse(let address)): self = .portTaken(address)
        case .socket(.addressNotAvailable(let address)): self = .noSuchAddress(address)
        case .socket(.permissionDenied(let address)): self = .notPermitted(address)
        case .socket(.familyNotSupported): self = .noNetwork
        case .socket(.system(let errno, let doing)): self = .failed("\(doing): \(SystemCause(errno: errno))")
        }
    }

    /// Half a sentence.
    package var problem: String {
        switch self {
        case .portTaken(let address): "cannot listen on UDP \(address): another process has that port"
        case .noSuchAddress(let address): "cannot listen on UDP \(address): no network interface here has that address"
        case .notPermitted(let address): "cannot listen on UDP \(address): ports below 1024 need privileges"
        case .noNetwork: "cannot open a UDP socket: this system has neither IPv4 nor IPv6 switched on"
        case .failed(let reason): "cannot start the node: \(reason)"
        }
    }

    /// A whole sentence.
    package var advice: String {
        switch self {
        case .portTaken: "Stop it, or choose another port with --bind IP:PORT."
        case .noSuchAddress: "Choose another address with --bind IP:PORT."
        case .notPermitted: "Choose a higher one with --bind IP:PORT."
        case .noNetwork: "Switch one of them on."
        case .failed: "Try again."
        }
    }

    package var description: String { "\(problem). \(advice)" }
}
