/// Keeps the `ClientRecords` of one device, shared by all its processes.
public protocol ClientStore: Sendable {
    /// What is kept now.
    func records() async throws(ClientStoreError) -> ClientRecords

    /// Reads the newest records, changes them and keeps the result, while no other process does the same. Durable when it
    /// returns; nothing is kept when it throws.
    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) async throws(ClientStoreError) -> Value
}

/// Why the records could not be read or kept.
public enum ClientStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The directory cannot be written.
    case readOnly(path: String)
    /// The disk is full or failing; half a sentence.
    case notSaved(path: String, cause: String)
    case unreadable(path: String, cause: String)
    /// The file holds something else; deleting it makes this device forget its daemons.
    case damaged(path: String, problem: String)
    case refused(Registry.Refusal)
    /// Too many operations wait for their end.
    case tooManyOperations

    public var description: String {
        switch self {
        case .readOnly(let path): "cannot write to \(path): it is read-only"
        case .notSaved(let path, let cause): "could not save \(path): \(cause)"
        case .unreadable(let path, let cause): "could not read \(path): \(cause)"
        case .damaged(let path, let problem): "\(path) is damaged: \(problem)"
        case .refused(let refusal): "\(refusal)"
        case .tooManyOperations: "too many operations wait to be settled"
        }
    }
}
