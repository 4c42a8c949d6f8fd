internal import CSys
internal import Glibc

/// An open descriptor, closed when the last reference goes.
package final class Descriptor: Sendable {
    package let number: Int32

    /// - Parameter number: nobody else closes it.
    package init(owning number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}

/// A pipe. The end that is given to a child must be let go of afterwards, or the other end never sees the child's end.
///
/// With the first one the process begins to ignore SIGPIPE: writing to a child that is gone is an error, not our death.
package struct Pipe: Sendable {
    package let reader: Descriptor
    package let writer: Descriptor

    private static let ignoringBrokenPipes: Void = csys_ignore_sigpipe()

    package init() throws(SystemError) {
        Self.ignoringBrokenPipes
        var (reader, writer): (Int32, Int32) = (-1, -1)
        try check(csys_pipe(&reader, &writer), "making a pipe")
        self.reader = Descriptor(owning: reader)
        self.writer = Descriptor(owning: writer)
    }
}

extension Descriptor {
    /// Reads and writes on it then return at once.
    package func makeNonBlocking() throws(SystemError) {
        try check(csys_set_nonblocking(number), "preparing a descriptor")
    }

    package enum Read: Equatable, Sendable {
        case bytes([UInt8])
        /// Nothing now, more later.
        case nothing
        case end
    }

    /// What is there, at most `maxBytes`. An error is an end: nothing more will come from there.
    package func read(maxBytes: Int) -> Read {
        precondition(maxBytes > 0, "reading nothing looks like an end")
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: maxBytes) { buffer, length in
            repeat { count = Glibc.read(number, buffer.baseAddress, maxBytes) } while count < 0 && errno == EINTR
            if count < 0 { count = errno == EAGAIN ? -1 : 0 }
            length = max(count, 0)
        }
        return count < 0 ? .nothing : count == 0 ? .end : .bytes(bytes)
    }

    /// True when all of it was taken; false when the pipe is full or nobody reads any more.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        Glibc.write(number, bytes, bytes.count) == bytes.count
    }
}
