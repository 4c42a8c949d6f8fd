internal import CQrencode

/// A QR code (ISO/IEC 18004) as text: two modules a character cell, one above the other, dark on light whatever the
/// colours of the terminal.
struct QRCode {
    /// Modules on a side, without the border.
    let width: Int
    private let dark: [Bool]

    /// Nil when the text is too long for any code.
    init?(_ text: String) {
        // Level L: the screen does not get dirty, and a smaller code fits more terminals.
        guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L) else { return nil }
        defer { QRcode_free(code) }
        let side = Int(code.pointee.width)
        guard side > 0, let modules = code.pointee.data else { return nil }
        width = side
        dark = (0..<side * side).map { modules[$0] & 1 == 1 }
    }

    /// Two light cells on every side: scanners need a quiet zone.
    static let border = 2

    var columns: Int { width + 2 * Self.border }
    var rows: Int { (columns + 1) / 2 }

    /// Black ink on a white ground; each line resets the colours before it ends.
    func lines() -> [String] {
        let edge = -Self.border
        return stride(from: edge, to: width + Self.border, by: 2).map { row in
            let cells = (edge..<width + Self.border).map { column in
                switch (isDark(row, column), isDark(row + 1, column)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }
            return "\u{1B}[30;107m" + cells.joined() + "\u{1B}[0m"
        }
    }

    private func isDark(_ row: Int, _ column: Int) -> Bool {
        guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
        return dark[row * width + column]
    }
}
