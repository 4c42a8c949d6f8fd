/// What a table says otherwise than the stored one, `+` and `-` before each line; empty when it says the same. Prints the whole
/// table then, for whoever has looked at what changed and wants to store it.
package func changes(in lines: [String], since stored: String) -> [String] {
    let before = stored.split(separator: "\n").map(String.init)
    guard lines != before else { return [] }
    print(lines.joined(separator: "\n"))
    return lines.difference(from: before).map { change in
        switch change {
        case .insert(_, let line, _): "+ \(line)"
        case .remove(_, let line, _): "- \(line)"
        }
    }
}
