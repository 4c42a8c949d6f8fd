/// Finds the one thing a person means by a full ID, a list number, or the end of an ID (ULIDs made in one week begin alike,
/// so beginnings are no use).
struct Selection<Element> {
    /// Shorter endings are refused: with a few dozen sessions three characters collide too easily.
    static var shortestSuffix: Int { 4 }

    let elements: [Element]
    /// `session`, `request`, …
    let noun: String
    let id: (Element) -> String
    /// The one that a number means; the place in the list, unless elements have numbers of their own.
    let numbered: (Int) -> Element?

    init(
        elements: [Element], noun: String, numbered: ((Int) -> Element?)? = nil, id: @escaping (Element) -> String
    ) {
        (self.elements, self.noun, self.id) = (elements, noun, id)
        self.numbered = numbered ?? { elements.indices.contains($0 - 1) ? elements[$0 - 1] : nil }
    }

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
            return numbered(number).map { .found($0) } ?? .none
        }
        let wanted = text.lowercased()
        let matches = elements.filter { id($0).lowercased().hasSuffix(wanted) }
        // A long number may be the end of an ID as well; nobody can say which was meant.
        let called = Int(text).flatMap(numbered).map { [$0] } ?? []
        let all = matches + called.filter { element in !matches.contains { id($0) == id(element) } }
        return all.count == 1 ? .found(all[0]) : all.isEmpty ? .none : .ambiguous(all)
    }
}
