internal import Glibc

/// A file of the repository that the tests were built from: documents that are held to the code.
package enum RepositoryFile {
    package struct Missing: Error {
        let name: String
    }

    /// The first megabyte of it.
    ///
    /// - Parameter name: from the root of the repository.
    package static func text(of name: String) throws(Missing) -> String {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let file = open("/\(root)/\(name)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Missing(name: name) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }
}
