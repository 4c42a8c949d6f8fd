/// A relay has no place for us; the status of its answer says so.
package enum RelayCrowding: Int, Hashable, Sendable {
    /// Our network has as many as it may.
    case network = 429
    case relay = 503

    /// Goes on after "the relay".
    package var words: String {
        switch self {
        case .network: "has too many connections from our network already (HTTP status 429)"
        case .relay: "takes no more connections now (HTTP status 503)"
        }
    }
}
