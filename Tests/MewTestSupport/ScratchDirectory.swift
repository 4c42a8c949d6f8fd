import Glibc

/// A new directory for one test, removed with everything in it at the end.
package final class ScratchDirectory: Sendable {
    /// Absolute, without links.
    package let path: String

    package init() {
        var template = Array("/tmp/mew-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("mkdtemp: errno \(errno)") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        // rm copes with trees that are deeper than a path may be long.
        var arguments: [UnsafeMutablePointer<CChar>?] = (["rm", "-rf", "--", path] as [String]).map { strdup($0) }
        arguments.append(nil)
        var process: pid_t = 0
        if posix_spawn(&process, "/bin/rm", nil, nil, &arguments, environ) == 0 { waitpid(process, nil, 0) }
        for argument in arguments { free(argument) }
    }

    /// The absolute path of `name` in here.
    package func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// Makes a directory and returns its path.
    @discardableResult
    package func directory(_ name: String) -> String {
        check(mkdir(self(name), 0o755), "mkdir \(name)")
        return self(name)
    }

    /// Makes a file and returns its path.
    @discardableResult
    package func file(_ name: String, _ content: String = "") -> String {
        let descriptor = open(self(name), O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        check(descriptor, "open \(name)")
        let bytes = Array(content.utf8)
        check(Int32(clamping: write(descriptor, bytes, bytes.count)), "write \(name)")
        close(descriptor)
        return self(name)
    }

    /// Makes a symbolic link that says `target`.
    package func link(_ name: String, to target: String) {
        check(symlink(target, self(name)), "symlink \(name)")
    }

    private func check(_ result: Int32, _ call: String) {
        precondition(result >= 0, "\(call): errno \(errno)")
    }
}
