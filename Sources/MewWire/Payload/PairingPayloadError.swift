public import MewIdentity

/// Why a text is no pairing payload. `description` is one sentence that names the part; it never quotes a token.
public enum PairingPayloadError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Part: String, Hashable, Sendable {
        case name, token, relay, relays, addrs
        case nodeID = "node_id"
    }

    case empty
    case tooLong(bytes: Int)
    /// `mew002` and so on: made by another version of mew.
    case unknownVersion(String)
    /// A shell took the quotes away or expanded the braces before we saw the payload.
    case expandedByShell
    /// More than the payload was pasted.
    case surroundings(Surroundings)
    case node(NodeIDTextError)
    case notJSON(String)
    case missingNodeID
    /// The sentence says what is wrong with the part.
    case part(Part, String)

    public enum Surroundings: Hashable, Sendable {
        case command, quotes, severalWords
        case label(String)
    }

    public var description: String {
        switch self {
        case .empty:
            "the payload is empty; paste what 'mew pair' shows"
        case .tooLong(let bytes):
            "the payload has \(bytes) bytes; the longest that mew makes has \(PairingPayload.maxBytes)"
        case .unknownVersion(let version):
            "the payload is of version \(version), and this mew knows mew001 only; update mew on this machine"
        case .expandedByShell:
            "the shell took the payload apart; put it in single quotes: mew add '…'"
        case .surroundings(let surroundings):
            surroundings.sentence
        case .node(let error):
            error.description
        case .notJSON(let problem):
            "the payload after 'mew001:' is damaged: \(problem)"
        case .missingNodeID:
            "the payload has no node_id"
        case .part(let part, let problem):
            "\(part.rawValue) in the payload \(problem)"
        }
    }
}

extension PairingPayloadError.Surroundings {
    fileprivate var sentence: String {
        switch self {
        case .command: "this is a whole command; give only the payload inside its quotes"
        case .quotes: "there are quotes around the payload; leave them out here"
        case .label(let label): "leave out '\(label)' and give the node ID after it"
        case .severalWords: "this is more than one word; a payload or node ID has no spaces outside its JSON"
        }
    }
}
