extension String {
    /// This text with everything replaced that could move a cursor, hide or reorder what stands beside it: control
    /// characters (escapes included), line and paragraph separators, bidirectional marks and other invisible format
    /// characters (DESIGN §13). For strings from a peer on their way to a terminal or a log.
    ///
    /// - Parameter limit: at most this many Unicode scalars; what is longer ends in `…`. Scalars and not characters, because
    ///   one character may carry any number of combining marks.
    public func printable(limit: Int) -> String {
        precondition(limit > 0, "a limit of nothing would print nothing")
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in unicodeScalars {
            count += 1
            if count > limit {
                result.removeLast()
                result.append("…")
                break
            }
            result.append(scalar.isPrintable ? scalar : "\u{FFFD}")
        }
        return String(result)
    }

    /// `printable` for the name of a device, a daemon or an agent: 64 scalars, no white space around it.
    public var printableName: String {
        printable(limit: 64).trimmedSpaces
    }

    private var trimmedSpaces: String {
        var rest = self[...]
        while rest.first == " " { rest = rest.dropFirst() }
        while rest.last == " " { rest = rest.dropLast() }
        return String(rest)
    }
}

extension Unicode.Scalar {
    /// False for what a terminal interprets instead of drawing it.
    public var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
