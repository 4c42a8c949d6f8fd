package import MewIdentity

/// How two of one name are told apart: a name that is taken gets the end of the node ID (`desk-stio`), and when that is taken as
/// well, a number (`desk-stio-2`).
package enum UniqueName {
    /// - Parameter taken: names in lower case.
    package static func of(_ name: String, for node: NodeID, besides taken: Set<String>) -> String {
        guard taken.contains(name.lowercased()) else { return name }
        let longer = "\(name.prefix(52))-\(node.shortEnding)"
        // Two ends alike, or somebody has chosen just that name. Terminates: each number makes another name.
        var (unique, number) = (longer, 2)
        while taken.contains(unique.lowercased()) {
            unique = "\(longer)-\(number)"
            number += 1
        }
        return unique
    }
}

extension NodeID {
    /// The last four characters of its text: they tell two of one name apart, and each of them is found by them (DESIGN §10).
    package var shortEnding: String { String(z32.suffix(4)) }
}
