/// Memory of whoever reads: a stream puts bytes there, where they are parsed, so that only the kernel copies them.
///
/// Touched on the loop's thread only.
package protocol StreamInput: AnyObject, Sendable {
    /// Lends room for the next bytes, never none, to `read`, which returns how many it has put there.
    func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int)
}

extension StreamInput {
    package func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    package func append(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            fill { room in
                let count = min(room.count, rest.count)
                room.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
                rest = rest.dropFirst(count)
                return count
            }
        }
    }
}

/// What is to be written, asked for only when the kernel takes something: what has not begun to leave until then can still be
/// overtaken by what is urgent, and forgotten when it is too old.
///
/// Touched on the loop's thread only.
package protocol StreamOutput: AnyObject, Sendable {
    /// What leaves next: at most `limit` bytes, or one frame that has more; empty when nothing waits. Valid until the next
    /// call.
    func next(atMost limit: Int) -> UnsafeRawBufferPointer

    /// So many of them have left.
    func left(_ byteCount: Int)
}
