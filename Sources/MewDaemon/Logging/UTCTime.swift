/// A moment on the wall as people and log readers write it: `2026-03-01T14:02:09.250Z` (RFC 3339, UTC).
struct UTCTime: CustomStringConvertible {
    let year: Int
    let month: Int
    let day: Int
    private let millisecondOfDay: Int

    /// - Parameter milliseconds: since the Unix epoch.
    init(milliseconds: UInt64) {
        let total = Int(clamping: milliseconds)
        millisecondOfDay = total % 86_400_000
        (year, month, day) = Self.civil(day: total / 86_400_000)
    }

    var description: String {
        "\(date)T\(clock):\(Self.padded(second, 2)).\(Self.padded(millisecondOfDay % 1_000, 3))Z"
    }

    /// `2026-03-01`
    var date: String { "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))" }

    /// `14:02`
    var clock: String { "\(Self.padded(millisecondOfDay / 3_600_000, 2)):\(Self.padded(minute, 2))" }

    private var minute: Int { millisecondOfDay / 60_000 % 60 }
    private var second: Int { millisecondOfDay / 1_000 % 60 }

    /// The Gregorian date of a day counted from 1970-01-01. Counts in years that begin in March, so that the leap day is the
    /// last day of its year, and in eras of 400 years, which all have 146,097 days.
    private static func civil(day: Int) -> (Int, Int, Int) {
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
