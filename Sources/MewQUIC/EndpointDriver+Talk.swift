package import MewBase
internal import MewLoop
internal import MewPath
internal import MewQUICCore
package import MewWire

// Path messages of all connections: whose they are, and what makes us call.

extension EndpointDriver {
    /// A packet that begins like STUN. What no peer of a connection wrote is given to `onStun`, or dropped without a word.
    func stun(_ packet: UnsafeRawBufferPointer, from arrival: Outlet) {
        if let tag = LinkTag(of: packet), let slot = talks[tag], let connection = table[slot] {
            if connection.heard(message: Array(packet), from: arrival, now: loop.now) {
                counters.pathMessagesHeard += 1
            } else {
                counters.pathMessagesIgnored += 1
            }
        } else if case .direct(let address) = arrival.route, let onStun {
            onStun(StrayStun(bytes: packet, from: address, to: arrival.source))
        } else {
            counters.noise += 1
        }
    }

    func send(_ message: [UInt8], by outlet: Outlet) {
        outlets.send(message, by: outlet)
        scheduleTurn()
    }

    func sendStray(_ packet: [UInt8], to address: SocketAddress, from source: SocketAddress?) {
        let isFit = { (local: SocketAddress) in
            guard local.family == address.family else { return false }
            guard let source, source.port != 0 else { return true }
            return local.port == source.port && (local.isUnspecified || local == source)
        }
        guard let socket = outlets.sockets.firstIndex(where: { isFit($0.localAddress) }) else { return }
        send(packet, by: Outlet(route: .direct(address), socket: socket, source: source))
    }

    func called(_ ways: Int, isUnheard: Bool) {
        counters.callsSent += 1
        report(.debug, "called", "called a peer by \(ways) ways" + (isUnheard ? ": it is not heard any more" : ""))
    }

    func presenceChanged(_ presence: Presence) {
        self.presence = presence
        for connection in table.all { connection.presenceChanged() }
    }

    func carrierReturned(_ id: CarrierID) {
        for connection in table.all { connection.presenceChanged(returned: id) }
    }
}

/// A packet that begins like STUN and belongs to no connection.
package struct StrayStun {
    /// Valid within the call that hands it over.
    package let bytes: UnsafeRawBufferPointer
    package let from: SocketAddress
    /// The local address it was sent to, with the socket's port.
    package let to: SocketAddress?
}

extension Endpoint {
    /// What calls say from now on, without calling anybody: for what was known before the first connection.
    package func setPresence(_ presence: Presence) {
        driver.presence = presence
    }

    /// The same for the relays alone.
    package func setRelays(_ relays: [RelayURL]) {
        driver.presence.relays = relays
    }

    /// This node can be reached elsewhere, or may not be reached where it was: peers that dialled us are called.
    package func presenceChanged(_ presence: Presence) {
        driver.presenceChanged(presence)
    }
}
