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
    /// Of the terminal that standard error is; nil when it is none.
    var errorColumns: Int?

    /// What output for people is laid out for when nobody says otherwise (STYLE §10).
    static let usualColumns = 80

    static func current() -> Terminal {
        let (screen, errors) = (size(of: 1), size(of: 2))
        return Terminal(
            canAsk: isatty(0) == 1 && isatty(2) == 1, isScreen: isatty(1) == 1, columns: screen.columns,
            rows: screen.rows, errorColumns: isatty(2) == 1 ? errors.columns : nil)
    }

    private static func size(of descriptor: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        let known = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return known ? (Int(size.ws_col), Int(size.ws_row)) : (usualColumns, 24)
    }
}
