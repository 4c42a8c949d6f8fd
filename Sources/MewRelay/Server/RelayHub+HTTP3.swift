internal import MewBase
internal import MewIdentity
internal import MewWire

// What comes from, and goes to, clients over HTTP/3. They share the table, the budgets and the bounds with the others.

extension RelayHub {
    // MARK: - Forwarding

    /// A frame of a WebSocket, already readdressed, for a receiver over HTTP/3: its packets part.
    func forward(
        _ frame: UnsafeRawBufferPointer, of node: NodeID, from sender: any RelayClient, to receiverID: NodeID,
        _ number: ConnectionNumber
    ) {
        guard let receiver = http3[number], let packets = DeliveredPackets(frame) else { return }
        for start in stride(from: 0, to: packets.contents.count, by: packets.segmentSize) {
            let end = min(start + packets.segmentSize, packets.contents.count)
            deliver(
                UnsafeRawBufferPointer(rebasing: packets.contents[start..<end]), of: node, from: sender, to: receiver)
        }
        remember(receiverID, hears: sender)
    }

    /// A packet of a client over HTTP/3.
    func forward(_ packet: UnsafeRawBufferPointer, of node: NodeID, from sender: HTTP3Client, to receiverID: NodeID) {
        guard let number = table.active(receiverID) else {
            metrics.packetsUnknownReceiver += 1
            tell(sender, isAbsent: receiverID)
            return
        }
        if let receiver = http3[number] {
            deliver(packet, of: node, from: sender, to: receiver)
        } else if let receiver = connections[number] {
            deliver(packet, of: node, from: sender, to: receiver)
        }
        remember(receiverID, hears: sender)
    }

    private func deliver(
        _ packet: UnsafeRawBufferPointer, of node: NodeID, from sender: any RelayClient, to receiver: HTTP3Client
    ) {
        switch receiver.take(packet, of: node, from: sender.number) {
        case .queued: forwarded(1, packet.count)
        case .dropped: metrics.packetsQueueFull += 1
        }
    }

    private func deliver(
        _ packet: UnsafeRawBufferPointer, of node: NodeID, from sender: any RelayClient, to receiver: RelayConnection
    ) {
        let payloadBytes = RelayFrame.datagramHeadBytes + packet.count
        let wireBytes = WebSocketWriter.byteCount(payloadBytes: payloadBytes)
        if receiver.blockedSince != nil { receiver.expire() }
        guard receiver.queue.hasRoom(for: sender.number, byteCount: wireBytes) else {
            metrics.packetsQueueFull += 1
            return
        }
        receiver.queue.append(of: sender.number, packets: 1, byteCount: wireBytes, now: now) { target in
            WebSocketWriter.write(.binary, payloadBytes: payloadBytes, to: target) {
                DatagramFrame.write(packet, of: node, to: $0)
            }
        }
        forwarded(1, packet.count)
        leaveSoon(receiver)
    }

    // MARK: - Coming and going

    func admit(_ client: HTTP3Client, as node: NodeID) {
        budget.admit(client.source)
        metrics.admitted += 1
        diagnostics.record(ifWanted: .info) {
            var fields: [String: Diagnostic.Value] = [
                "node": .text(node.z32), "from": .text(client.peer.description), "protocol": .text("http/3"),
                "connection": .integer(Int64(clamping: client.number.raw)),
            ]
            if let account = client.account { fields["account"] = .text(account.z32) }
            return Diagnostic(.info, "relay", "client_joined", "a client joined", fields)
        }
        for action in table.enter(node, client.number) { perform(action, of: node, []) }
    }

    /// Takes the node of a client away; its connection may still have something to say.
    func leave(_ client: HTTP3Client, as node: NodeID?, _ cause: Cause) {
        count(cause)
        guard let node else { return }
        diagnostics.record(ifWanted: .info) {
            Diagnostic(
                .info, "relay", "client_left", "a client left: \(cause.words)",
                ["node": .text(node.z32), "connection": .integer(Int64(clamping: client.number.raw))])
        }
        for action in table.leave(node, client.number) { perform(action, of: node, client.audience) }
    }

    /// Its connection is gone.
    func forget(_ client: HTTP3Client, wasStranger: Bool) {
        guard http3.removeValue(forKey: client.number) != nil else { return }
        budget.leave(client.source, wasStranger: wasStranger)
        tellWhenEmpty()
    }
}
