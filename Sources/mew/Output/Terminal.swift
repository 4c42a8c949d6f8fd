#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What the three standard streams are connected to.
struct Terminal: Sendable {
    /// A person can be asked: input and the place of questions (standard error) are both a terminal.
    let canAsk: Bool
    /// Standard output is a terminal.
    let isScreen: Bool
    let columns: Int
    let rows: Int

    /// What output for people is laid out for when nobody says otherwise (STYLE §10).
    static let usualColumns = 80

    static func current() -> Terminal {
        var size = winsize()
        let known = ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return Terminal(
            canAsk: isatty(0) == 1 && isatty(2) == 1,
            isScreen: isatty(1) == 1,
            columns: known ? Int(size.ws_col) : usualColumns,
            rows: known ? Int(size.ws_row) : 24)
    }
}
