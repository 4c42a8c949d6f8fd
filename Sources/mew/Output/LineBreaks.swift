/// Where sentences for people are broken: between words, and never inside of what is to be copied.
enum LineBreaks {
    /// `text` in lines of at most `width` columns. A word that is longer has a line of its own, unbroken. What stands in single
    /// quotes is one word: a command that is copied must not end within a line.
    ///
    /// - Parameters:
    ///   - indent: the spaces before all lines but the first.
    ///   - start: the column at which the first line begins.
    static func lines(_ text: String, width: Int, indent: Int = 0, start: Int = 0) -> [String] {
        var lines = [""]
        var column = start
        for word in words(text) {
            if column > start || lines.count > 1, column + word.width > width {
                lines.append(String(repeating: " ", count: indent) + word.text)
                column = indent + displayWidth(word.text)
            } else {
                lines[lines.count - 1] += word.space + word.text
                column += word.width
            }
        }
        return lines
    }

    private struct Word {
        /// Before it, where it does not begin a line.
        var space: Substring
        var text: String

        var width: Int { space.count + displayWidth(text) }
    }

    private static func words(_ text: String) -> [Word] {
        var rest = text[...]
        var words: [Word] = []
        while true {
            let space = rest.prefix { $0 == " " }
            rest = rest.dropFirst(space.count)
            guard !rest.isEmpty else { return words }
            let word = quotation(rest) ?? rest.prefix { $0 != " " }
            rest = rest.dropFirst(word.count)
            words.append(Word(space: space, text: String(word)))
        }
    }

    /// What begins with a quotation, up to the end of the word in which that ends; nil when it is none.
    private static func quotation(_ text: Substring) -> Substring? {
        let opening = text.prefix { $0 == "(" }.count
        let inside = text.dropFirst(opening + 1)
        guard text.dropFirst(opening).first == "'", let close = inside.firstIndex(of: "'") else { return nil }
        return text[..<(text[close...].firstIndex(of: " ") ?? text.endIndex)]
    }
}
