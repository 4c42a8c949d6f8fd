import MewBase

/// Times and durations in words.
enum Words {
    /// `3 s`, `5 min`, `2 h`, `4 days`: one unit, rounded down.
    static func duration(milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds) / 1_000
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3_600) h"
        case ..<172_800: "1 day"
        default: "\(seconds / 86_400) days"
        }
    }

    /// `5 min ago`, `just now`, `never`; a time in the future (another machine's clock) is `just now`.
    static func ago(_ then: Int64?, now: Int64) -> String {
        guard let then else { return "never" }
        let elapsed = now - then
        return elapsed < 1_000 ? "just now" : duration(milliseconds: elapsed) + " ago"
    }

    /// `1.25`: milliseconds with at most three significant decimals, for a round trip.
    static func roundTrip(_ duration: Duration) -> String {
        let microseconds = max(0, duration.saturatingNanoseconds) / 1_000
        let (whole, fraction) = (microseconds / 1_000, microseconds % 1_000)
        return "\(whole).\(String(fraction + 1_000).dropFirst()) ms"
    }

    /// `1 session`, `3 sessions`.
    static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}
