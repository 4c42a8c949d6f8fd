/// Finds the one thing a person means by a full ID, a list number, or the end of an ID (ULIDs made in one week begin alike,
/// so beginnings are no use).
struct Selection<Element> {
    /// Shorter endings are refused: with a few dozen sessions three characters collide too easily.
    static var shortestSuffix: Int { 4 }

    let elements: [Element]
    /// `session`, `request`, …
    let noun: String
    let id: (Element) -> String

    enum Outcome {
        case found(Element)
        case ambiguous([Element])
        case tooShort
        case none
    }

    func find(_ text: String) -> Outcome {
        if let exact = elements.first(where: { id($0) == text }) { return .found(exact) }
        if text.utf8.count < Self.shortestSuffix {
            guard let number = Int(text) else { return .tooShort }
            return elements.indices.contains(number - 1) ? .found(elements[number - 1]) : .none
        }
        let wanted = text.lowercased()
        let matches = elements.filter { id($0).lowercased().hasSuffix(wanted) }
        if matches.count == 1 { return .found(matches[0]) }
        if matches.isEmpty, let number = Int(text), elements.indices.contains(number - 1) {
            return .found(elements[number - 1])
        }
        return matches.isEmpty ? .none : .ambiguous(matches)
    }
}
