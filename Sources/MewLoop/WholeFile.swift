internal import Glibc

/// Reading a file whole, as far as that is not too much. Blocks for as long as reading takes.
package enum WholeFile {
    /// - Throws: `tooLarge` beyond `maxBytes`.
    package static func bytes(of path: String, maxBytes: Int) throws(SystemError) -> [UInt8] {
        // O_NONBLOCK: a named pipe at this path must not hang the start.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw SystemError(errno: errno, doing: "opening \(path)") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &block, block.count)
            guard count >= 0 else { throw SystemError(errno: errno, doing: "reading \(path)") }
            guard count > 0 else { return bytes }
            guard bytes.count + count <= maxBytes else { throw SystemError(errno: EFBIG, doing: "reading \(path)") }
            bytes += block[..<count]
        }
    }
}
