/// Rows in columns for people: at most `width` columns wide; the widest cells of the flexible column give way.
struct TextTable {
    let header: [String]
    /// The column that gives way when the table is too wide.
    let flexible: Int
    /// Its cells are sentences, and go on below; others are cut.
    let hasSentences: Bool
    private(set) var rows: [[String]] = []

    init(_ header: [String], flexible: Int, hasSentences: Bool = false) {
        self.header = header
        self.flexible = flexible
        self.hasSentences = hasSentences
    }

    mutating func add(_ row: [String]) {
        rows.append(row)
    }

    private static let gap = 2

    func lines(width: Int) -> [String] {
        let all = [header] + rows
        var widths = header.indices.map { column in all.map { displayWidth($0[column]) }.max() ?? 0 }
        let total = widths.reduce(0, +) + Self.gap * (widths.count - 1)
        widths[flexible] = max(8, widths[flexible] - max(0, total - width))
        return all.flatMap { row in continued(row, to: widths[flexible]).map { line($0, widths) } }
    }

    /// The row, and below it what is left of its sentence.
    private func continued(_ row: [String], to width: Int) -> [[String]] {
        guard hasSentences else { return [row] }
        return LineBreaks.lines(row[flexible], width: width).enumerated().map { number, piece in
            row.indices.map { $0 == flexible ? piece : number == 0 ? row[$0] : "" }
        }
    }

    private func line(_ row: [String], _ widths: [Int]) -> String {
        let cells = row.indices.map { column in
            let cell = cut(row[column], to: widths[column])
            return column == row.count - 1
                ? cell : cell + String(repeating: " ", count: widths[column] - displayWidth(cell) + Self.gap)
        }
        var line = cells.joined()
        while line.last == " " { line.removeLast() }
        return line
    }

    private func cut(_ text: String, to width: Int) -> String {
        guard displayWidth(text) > width else { return text }
        var result = ""
        var used = 0
        for character in text {
            let next = displayWidth(String(character))
            guard used + next < width else { break }
            result.append(character)
            used += next
        }
        return result + "…"
    }
}

/// Terminal columns of a line: wide characters (East Asian, emoji) count two. Good enough to line up a table.
func displayWidth(_ text: String) -> Int {
    text.reduce(0) { sum, character in
        guard let first = character.unicodeScalars.first else { return sum }
        return sum + (isWide(first) ? 2 : 1)
    }
}

/// The wide and full-width ranges of Unicode's EastAsianWidth, without its holes.
private func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
        true
    default: false
    }
}
