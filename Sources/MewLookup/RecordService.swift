package import MewIdentity
package import MewLoop
package import MewRelay
package import MewWire

/// The signed address records that relays keep, seen from a node (spec/iroh-wire.md §5.3): `GET` and `PUT /pkarr/<node ID>`.
package struct RecordService: Sendable {
    private let exchange: RelayExchange

    /// One request, connecting included. A dial has ten seconds, and other relays are asked meanwhile.
    package static let limit: Duration = .seconds(3)

    /// - Parameter token: what a relay wants before it keeps something.
    package init(
        connector: any RelayConnector, loop: any Loop, token: @escaping @Sendable (RelayURL) -> String? = { _ in nil }
    ) {
        exchange = RelayExchange(connector: connector, loop: loop, token: token)
    }

    /// The record of `node` that the relay keeps; nil when it keeps none. The signature was checked: a relay can withhold a
    /// record, or show an older one, but not change it.
    package func record(of node: NodeID, at url: RelayURL) async throws(LookupFailure) -> SignedRecord? {
        let answer = try await exchange.send("GET", Self.path(node), to: url, within: Self.limit)
        switch answer.status {
        case 200: break
        case 404: return nil
        default: throw .status(answer.status)
        }
        do throws(SignedRecord.Refusal) {
            return try SignedRecord(body: answer.body, of: node)
        } catch {
            throw .badRecord
        }
    }

    /// Has the relay keep `record`. A relay that has a newer one keeps that, and says yes as well.
    package func publish(_ record: SignedRecord, at url: RelayURL) async throws(LookupFailure) {
        let answer = try await exchange.send(
            "PUT", Self.path(record.node), body: record.body, to: url, within: Self.limit)
        guard (200...299).contains(answer.status) else { throw .status(answer.status) }
    }

    /// One round trip to the relay, for choosing among several (spec/iroh-wire.md §4.8).
    package func roundTrip(to url: RelayURL) async throws(LookupFailure) -> Duration {
        let answer = try await exchange.send("GET", "/ping", to: url, within: Self.limit)
        guard (200...299).contains(answer.status) else { throw .status(answer.status) }
        return answer.roundTrip
    }

    private static func path(_ node: NodeID) -> String { "/pkarr/\(node.z32)" }
}
