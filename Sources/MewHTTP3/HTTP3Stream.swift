internal import CNghttp3

/// One request and its response, as far as HTTP/3 has to remember it.
final class HTTP3Stream {
    /// A head that is arriving.
    var head = HTTP3Head()
    var isHeadTooLarge = false
    var hasResponded = false
    /// Nothing follows what is queued.
    var isFinished: Bool
    /// Queued and not lent to the library.
    private var waiting: [UInt8] = []
    /// What the library points to, until it has all been taken.
    private var lent: UnsafeMutableRawBufferPointer?
    private var lentLeft = 0

    init(isFinished: Bool = false) {
        self.isFinished = isFinished
    }

    deinit {
        lent?.deallocate()
    }

    var unsentBytes: Int { waiting.count + lentLeft }

    func append(_ bytes: [UInt8]) {
        waiting += bytes
    }

    /// What the library may point to next; it makes one DATA frame of it. Nil while it still points to the last.
    func lend() -> UnsafeMutableRawBufferPointer? {
        guard lent == nil, !waiting.isEmpty else { return nil }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: waiting.count, alignment: 1)
        memory.copyBytes(from: waiting)
        (lent, lentLeft, waiting) = (memory, memory.count, [])
        return memory
    }

    var hasWaiting: Bool { !waiting.isEmpty }
    var isLending: Bool { lent != nil }

    /// The library has done with so many bytes.
    func returned(_ byteCount: Int) {
        lentLeft -= byteCount
        guard lentLeft <= 0 else { return }
        lent?.deallocate()
        (lent, lentLeft) = (nil, 0)
    }
}
