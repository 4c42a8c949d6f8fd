/// How many single-character edits (insert, delete, replace, swap of neighbours) turn one word into another: the
/// optimal string alignment distance.
func editDistance(_ left: String, _ right: String) -> Int {
    let (from, to) = (Array(left), Array(right))
    var before: [Int] = []
    var above = Array(0...to.count)
    for row in 0..<from.count {
        var line = [row + 1]
        for column in 0..<to.count {
            let replaced = above[column] + (from[row] == to[column] ? 0 : 1)
            var best = min(above[column + 1] + 1, line[column] + 1, replaced)
            if row > 0, column > 0, from[row] == to[column - 1], from[row - 1] == to[column] {
                best = min(best, before[column - 1] + 1)
            }
            line.append(best)
        }
        (before, above) = (above, line)
    }
    return above[to.count]
}

/// The candidate nearest to `word`, when it is near enough to be what was meant: at most a third of the longer word's
/// characters differ (one may in short words, two from four letters on), or the word is the beginning of exactly one
/// candidate.
func nearestMatch(to word: String, among candidates: [String]) -> String? {
    let word = String(word.lowercased().prefix(64))  // quadratic work: bound it
    let beginnings = candidates.filter { $0.lowercased().hasPrefix(word) }
    if word.count >= 2, beginnings.count == 1 { return beginnings.first }
    let measured = candidates.map { (candidate: $0, distance: editDistance(word, String($0.lowercased().prefix(64)))) }
    guard let nearest = measured.min(by: { $0.distance < $1.distance }) else { return nil }
    let allowed = max(word.count < 4 ? 1 : 2, max(word.count, nearest.candidate.count) / 3)
    return nearest.distance <= allowed ? nearest.candidate : nil
}
