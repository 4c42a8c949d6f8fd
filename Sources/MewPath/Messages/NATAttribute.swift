/// A `NATReport` in a path message, without the addresses: those are candidates.
///
///     IPv4: UDP | mapping | filtering | 0, the same of IPv6
///
/// Each a byte with the raw value. A value of a later version reads as unknown; what follows is ignored.
enum NATAttribute {
    static let byteCount = 8

    static func encode(_ report: NATReport) -> [UInt8] {
        [report.ipv4, report.ipv6].flatMap { [$0.udp.rawValue, $0.mapping.rawValue, $0.filtering.rawValue, 0] }
    }

    /// Nil when it is too short.
    static func decode(_ value: [UInt8]) -> NATReport? {
        guard value.count >= byteCount else { return nil }
        var report = NATReport()
        report.ipv4 = family(value[0..<4])
        report.ipv6 = family(value[4..<8])
        return report
    }

    private static func family(_ bytes: ArraySlice<UInt8>) -> NATReport.Finding {
        var family = NATReport.Finding()
        let start = bytes.startIndex
        family.udp = NATReport.UDP(rawValue: bytes[start]) ?? .unknown
        family.mapping = NATReport.Mapping(rawValue: bytes[start + 1]) ?? .unknown
        family.filtering = NATReport.Filtering(rawValue: bytes[start + 2]) ?? .unknown
        return family
    }
}

extension NATReport {
    /// As the peer is told it: its addresses stand among the candidates.
    package var withoutAddresses: NATReport {
        var report = self
        report.ipv4.reflexive = []
        report.ipv6.reflexive = []
        return report
    }
}
