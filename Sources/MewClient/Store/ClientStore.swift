public import MewWire

/// Keeps the `ClientRecords` of one device, shared by all its processes.
public protocol ClientStore: Sendable {
    /// This run of this program.
    var instance: ClientInstance { get }

    /// Whether that run goes on: then what it is sending is its own to follow. An app that is the only one here has only its own.
    func isRunning(_ instance: ClientInstance) -> Bool

    /// What is kept now.
    func records() async throws(ClientStoreError) -> ClientRecords

    /// Reads the newest records, changes them and keeps the result, while no other process does the same. Durable when it
    /// returns; nothing is kept when it throws.
    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) async throws(ClientStoreError) -> Value
}

extension ClientStore {
    /// What is kept of an operation that no running program sends any more says "sending" for ever: nobody knows about it.
    public func asKnown(_ operation: Operation) -> Operation {
        guard operation.instance.map(isRunning) != true else { return operation }
        var orphan = operation
        orphan.channelLost()
        return orphan
    }
}

/// One run of one program, from its start to its end. Opaque: the store that made it can say whether it goes on.
public struct ClientInstance: Hashable, Sendable {
    public let text: String

    public static let maxBytes = 128

    public init(_ text: String) {
        self.text = String(decoding: text.utf8.prefix(Self.maxBytes), as: UTF8.self)
    }
}

/// Why the records could not be read or kept.
public enum ClientStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The directory cannot be written.
    case readOnly(path: String)
    /// The disk is full or failing; half a sentence.
    case notSaved(path: String, cause: String)
    case unreadable(path: String, cause: String)
    /// There is a directory in the place of a file.
    case notAFile(path: String)
    /// The file holds something else; deleting it makes this device forget its daemons.
    case damaged(path: String, problem: String)
    case refused(Registry.Refusal)
    /// Too many operations wait for their end.
    case tooManyOperations
    /// The same was said before, and nobody knows whether it arrived.
    case unknownDelivery(OperationID)
    case draftTooLong
    /// It was written anew or sent since it was read.
    case draftChanged

    public var description: String {
        switch self {
        case .readOnly(let path): "cannot write to \(path): it is read-only"
        case .notSaved(let path, let cause): "could not save \(path): \(cause)"
        case .unreadable(let path, let cause): "could not read \(path): \(cause)"
        case .notAFile(let path): "\(path) is a directory, and has to be a file"
        case .damaged(let path, let problem): "\(path) is damaged: \(problem)"
        case .refused(let refusal): "\(refusal)"
        case .tooManyOperations: "too many operations wait to be settled"
        case .unknownDelivery(let id):
            "the same may have arrived before (…\(id.description.suffix(6))); ask about that one first"
        case .draftChanged: "what is written was changed or sent meanwhile"
        case .draftTooLong: "a draft has at most \(Drafts.maxBytes >> 10) KiB"
        }
    }
}
