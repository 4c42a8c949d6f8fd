internal import CSys
internal import Glibc

/// What the operating system refused, and what we were doing when it did.
///
/// Match on `kind`; print `description`, which reads as half a sentence: `opening the store: no space left on device`.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    /// The refusals that somebody can do something about.
    package enum Kind: Hashable, Sendable {
        case notFound
        case alreadyExists
        case permissionDenied
        /// The disk or the quota is full.
        case noSpace
        case readOnly
        case notADirectory
        /// A directory holds something, where an empty one was needed.
        case notEmpty
        case isADirectory
        /// Somebody else holds a lock, an address or a device.
        case busy
        /// This process or the machine has no descriptor left.
        case tooManyDescriptors
        /// A symbolic link where none is followed, or a path that leaves its root.
        case outsideRoot
        /// A file is larger than the reader accepts.
        case tooLarge
        /// Nobody listens there.
        case connectionRefused
        /// This machine has no network, or none that leads there.
        case networkUnreachable
        case other
    }

    package let errno: Int32
    package let doing: String

    package init(errno: Int32, doing: String) {
        self.errno = errno
        self.doing = doing
    }

    package var kind: Kind {
        switch errno {
        case ENOENT: .notFound
        case EEXIST: .alreadyExists
        case EACCES, EPERM: .permissionDenied
        case ENOSPC, EDQUOT: .noSpace
        case EROFS: .readOnly
        case ENOTDIR: .notADirectory
        case ENOTEMPTY: .notEmpty
        case EISDIR: .isADirectory
        case EBUSY, EADDRINUSE, ETXTBSY, EWOULDBLOCK: .busy
        case EMFILE, ENFILE: .tooManyDescriptors
        case EXDEV, ELOOP: .outsideRoot
        case EFBIG: .tooLarge
        case ECONNREFUSED: .connectionRefused
        case ENETUNREACH: .networkUnreachable
        default: .other
        }
    }

    package var description: String { "\(doing): \(reason)" }

    /// The system's words for the error number, in lower case as the rest of the sentence is.
    package var reason: String {
        guard let text = strerror(errno) else { return "error \(errno)" }
        let words = String(cString: text)
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

/// Turns a C result of "0 or an errno value" into a throw.
func check(_ errno: Int32, _ doing: @autoclosure () -> String) throws(SystemError) {
    guard errno == 0 else { throw SystemError(errno: errno, doing: doing()) }
}

/// Turns a C result of "a value or minus an errno value" into a throw.
func checked(_ result: Int32, _ doing: @autoclosure () -> String) throws(SystemError) -> Int32 {
    guard result >= 0 else { throw SystemError(errno: -result, doing: doing()) }
    return result
}
