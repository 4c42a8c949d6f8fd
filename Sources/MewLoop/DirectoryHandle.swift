import CSys
import Glibc

/// An open handle on one object of the file system, made without reading it (`O_PATH`).
///
/// What was checked through a handle stays what is used: the name may be swapped for a link meanwhile, the handle stays
/// with its object. Opening a FIFO does not block and opening a device does nothing. Closes itself.
///
/// The calls block on slow file systems: use it on a loop for blocking work.
package final class DirectoryHandle: Sendable {
    package enum Kind: Hashable, Sendable {
        case file(bytes: UInt64)
        case directory
        case link
        /// FIFO, socket or device.
        case other
    }

    /// One name in a directory, as bytes: names need not be UTF-8.
    package typealias Name = [UInt8]

    package let kind: Kind
    /// Device and inode: two handles are on the same object exactly when these are equal.
    package let identity: [UInt64]
    private let descriptor: Int32

    private init(owning descriptor: Int32, doing: @autoclosure () -> String) throws(SystemError) {
        guard descriptor >= 0 else { throw SystemError(errno: -descriptor, doing: doing()) }
        var object = csys_object()
        let status = csys_describe(descriptor, &object)
        guard status == 0 else {
            close(descriptor)
            throw SystemError(errno: -status, doing: doing())
        }
        self.descriptor = descriptor
        self.identity = [object.device, object.inode]
        self.kind =
            switch Int(object.kind) {
            case CSYS_KIND_FILE: .file(bytes: UInt64(max(object.size, 0)))
            case CSYS_KIND_DIRECTORY: .directory
            case CSYS_KIND_LINK: .link
            default: .other
            }
    }

    /// Opens what `path` names, following links. For paths that we or the user chose, never for a peer's.
    package convenience init(following path: String) throws(SystemError) {
        guard !path.utf8.contains(0) else { throw SystemError(errno: EINVAL, doing: "opening a path with a zero byte") }
        try self.init(owning: csys_open_path(path), doing: "opening \(path)")
    }

    deinit {
        close(descriptor)
    }

    /// Opens one entry of this directory; a link is opened itself, not what it points to.
    ///
    /// - Parameter name: one component: `..`, slashes and zero bytes are refused, so that no call leads upwards.
    package func entry(_ name: Name) throws(SystemError) -> DirectoryHandle {
        let text = String(decoding: name, as: UTF8.self)
        guard !name.isEmpty, !name.contains(0), !name.contains(UInt8(ascii: "/")), name != Array("..".utf8) else {
            throw SystemError(errno: EINVAL, doing: "opening \(text)")
        }
        let opened = (name + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { csys_open_entry(descriptor, $0.baseAddress) }
        }
        return try DirectoryHandle(owning: opened, doing: "opening \(text)")
    }

    /// The text of a link.
    package func linkTarget() throws(SystemError) -> [UInt8] {
        try Self.text { csys_read_link(descriptor, $0, $1) }
    }

    /// Where the object is now, with all links resolved.
    package func currentPath() throws(SystemError) -> [UInt8] {
        try Self.text { csys_path_of(descriptor, $0, $1) }
    }

    private static func text(_ read: (UnsafeMutablePointer<CChar>, Int32) -> Int32) throws(SystemError) -> [UInt8] {
        // PATH_MAX: neither a link's text nor a path the kernel reports is longer.
        let capacity = 4_096
        var length: Int32 = 0
        let bytes = [CChar](unsafeUninitializedCapacity: capacity) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            length = read(start, Int32(capacity))
            count = max(Int(length), 0)
        }
        guard length >= 0 else { throw SystemError(errno: -length, doing: "reading a link") }
        return bytes.map(UInt8.init(bitPattern:))
    }

    /// Calls `body` with the names in this directory, without `.` and `..`, in the order of the file system, until it
    /// returns false.
    package func names(_ body: (Name) -> Bool) throws(SystemError) {
        let listing = csys_open_for_listing(descriptor)
        guard listing >= 0 else { throw SystemError(errno: -listing, doing: "listing a directory") }
        guard let stream = fdopendir(listing) else {
            let number = errno
            close(listing)
            throw SystemError(errno: number, doing: "listing a directory")
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let record = readdir(stream) else {
                guard errno == 0 else { throw SystemError(errno: errno, doing: "listing a directory") }
                return
            }
            let name = Self.name(of: record)
            guard name != [UInt8(ascii: ".")], name != Array("..".utf8) else { continue }
            guard body(name) else { return }
        }
    }

    private static func name(of record: UnsafeMutablePointer<dirent>) -> Name {
        withUnsafeBytes(of: &record.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
    }
}

/// What we may do with a path.
package enum FileAccess {
    package static func canExecute(_ path: String) -> Bool { access(path, X_OK) == 0 }
}
