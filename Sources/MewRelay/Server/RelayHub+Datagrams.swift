internal import MewBase
internal import MewLoop

// What the relay answers on UDP.

extension RelayHub {
    /// The port with the number of the TCP port.
    func answerStun(_ address: SocketAddress, _ network: any DatagramNetwork) throws(SocketError) -> SocketAddress {
        try open(.main, address, network) { _, _, _ in }
    }

    /// The other port, where iroh endpoints look for an address discovery that we cannot serve.
    func answerProbes(_ address: SocketAddress, _ network: any DatagramNetwork) throws(SocketError) -> SocketAddress {
        try open(.alternate, address, network) { [self] packet, socket, received in
            guard let reply = VersionNegotiation.answer(to: packet) else { return }
            metrics.versionNegotiations += 1
            socket.reserve(reply.count).copyBytes(from: reply)
            socket.commit(reply.count, segmentSize: reply.count, to: received.from, from: received.to, ecn: 0)
        }
    }

    /// - Parameter other: takes what does not begin like STUN.
    private func open(
        _ port: StunDoors.Port, _ address: SocketAddress, _ network: any DatagramNetwork,
        other: @escaping (UnsafeRawBufferPointer, any DatagramSocket, ReceivedDatagrams) -> Void
    ) throws(SocketError) -> SocketAddress {
        let socket = try network.bind(address, on: loop)
        socket.onReceive = { [self, unowned socket] received in
            received.forEachPacket { packet in
                if StunDoors.isMeant(packet) {
                    stun.hear(packet, at: port, from: received.from, to: received.to, now: now)
                } else {
                    other(packet, socket, received)
                }
            }
            stun.flush()
        }
        datagrams.append(socket)
        stun.add(StunDoors.Door(port, socket))
        return socket.localAddress
    }

    /// Gives one port back.
    func stopAnswering(_ address: SocketAddress) {
        stun.remove(address)
        for socket in datagrams where socket.localAddress == address { socket.close() }
        datagrams.removeAll { $0.localAddress == address }
    }
}
