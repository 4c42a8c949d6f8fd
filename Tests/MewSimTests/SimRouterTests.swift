import MewBase
import MewLoop
import MewSim
import Testing

/// One machine behind a box, two outside.
///
///     inner (192.168.1.2) ── box (10.1.0.1) ── one (10.0.0.2), other (10.0.0.3)
@Suite("Boxes between the nodes")
struct SimRouterTests {
    private struct Stage {
        let world: SimWorld
        let box: SimRouter
        let inner: Mailbox
        let one: Mailbox
        let other: Mailbox
        /// At `one`'s address.
        let otherPort: Mailbox

        /// Where the packets came from that `one` and `other` received last.
        var seen: [SocketAddress?] { [one.batches.last?.from, other.batches.last?.from] }

        func settle() throws { try world.run(for: .milliseconds(100)) }
    }

    private func withStage(
        _ configure: (inout SimRouter.Behaviour) -> Void = { _ in }, _ body: (Stage) throws -> Void
    ) throws {
        try withSimWorld(seed: 1) { world in
            let box = world.addRouter("box", configure)
            let inner = world.addNode("inner", behind: box)
            let (one, other) = (world.addNode("one"), world.addNode("other"))
            try body(
                Stage(
                    world: world, box: box, inner: try Mailbox(inner, inner.address(port: 10)),
                    one: try Mailbox(one, one.address(port: 20)), other: try Mailbox(other, other.address(port: 20)),
                    otherPort: try Mailbox(one, one.address(port: 21))))
        }
    }

    @Test("a NAT shows its own address, and lets answers in")
    func translation() throws {
        try withStage { stage in
            stage.inner.send([1], to: stage.one.socket.localAddress)
            try stage.settle()
            #expect(stage.one.batches.last?.from == stage.box.address.with(port: 10))
            stage.one.send([2], to: stage.box.address.with(port: 10))
            try stage.settle()
            #expect(stage.inner.packets == [[2]])
            #expect(stage.inner.batches.last?.from == stage.one.socket.localAddress)
        }
    }

    @Test(
        "what a mapping depends on decides whether two peers see one outer port",
        arguments: SimRouter.Dependence.allCases)
    func mapping(_ dependence: SimRouter.Dependence) throws {
        try withStage({ $0.mapping = dependence }) { stage in
            stage.inner.send([1], to: stage.one.socket.localAddress)
            stage.inner.send([1], to: stage.other.socket.localAddress)
            stage.inner.send([1], to: stage.otherPort.socket.localAddress)
            try stage.settle()
            let ports = [stage.one, stage.other, stage.otherPort].map { $0.batches.last?.from.port }
            switch dependence {
            case .endpointIndependent: #expect(Set(ports) == [10])
            case .addressDependent:
                #expect(ports[0] == ports[2])
                #expect(ports[0] != ports[1])
            case .addressAndPortDependent: #expect(Set(ports).count == 3)
            }
        }
    }

    @Test("what filtering depends on decides who may enter", arguments: SimRouter.Dependence.allCases)
    func filtering(_ dependence: SimRouter.Dependence) throws {
        try withStage({ $0.filtering = dependence }) { stage in
            stage.inner.send([1], to: stage.one.socket.localAddress)
            try stage.settle()
            let door = stage.box.address.with(port: 10)
            stage.one.send([2], to: door)
            stage.otherPort.send([3], to: door)
            stage.other.send([4], to: door)
            try stage.settle()
            let entered = stage.inner.packets.map { $0[0] }.sorted()
            switch dependence {
            case .endpointIndependent: #expect(entered == [2, 3, 4])
            case .addressDependent: #expect(entered == [2, 3])
            case .addressAndPortDependent: #expect(entered == [2])
            }
        }
    }

    @Test("a mapping lives as long as something leaves through it, and not a moment longer")
    func lifetime() throws {
        try withStage({ $0.lifetime = .seconds(30) }) { stage in
            let door = stage.box.address.with(port: 10)
            stage.world.changeLinks { $0.latency = .zero }
            stage.box.changeLinks { $0.latency = .zero }
            stage.inner.send([1], to: stage.one.socket.localAddress)
            try stage.world.run(for: .seconds(30) - .nanoseconds(1))
            stage.one.send([2], to: door)
            try stage.world.run(for: .nanoseconds(1))
            #expect(stage.inner.packets == [[2]])
            stage.one.send([3], to: door)
            try stage.settle()
            // What came in has not refreshed it (RFC 4787 REQ-6).
            #expect(stage.inner.packets == [[2]])
        }
    }

    @Test("a box with no room for a mapping drops, until one has lapsed")
    func capacity() throws {
        try withStage({
            $0.mapping = .addressAndPortDependent
            $0.capacity = 2
        }) { stage in
            stage.inner.send([1], to: stage.one.socket.localAddress)
            stage.inner.send([1], to: stage.other.socket.localAddress)
            stage.inner.send([1], to: stage.otherPort.socket.localAddress)
            try stage.settle()
            #expect(stage.otherPort.packets == [])
            #expect(stage.box.mappingCount == 2)
            #expect(stage.box.dropped == 1)
            try stage.world.run(for: .seconds(31))
            stage.inner.send([2], to: stage.otherPort.socket.localAddress)
            try stage.settle()
            #expect(stage.otherPort.packets == [[2]])
        }
    }

    @Test("a box that restarts knows nobody; one with a new address is not found at the old one")
    func restarts() throws {
        try withStage { stage in
            let door = stage.box.address.with(port: 10)
            stage.inner.send([1], to: stage.one.socket.localAddress)
            try stage.settle()
            stage.box.forgetMappings()
            stage.one.send([2], to: door)
            try stage.settle()
            #expect(stage.inner.packets == [])
            stage.box.change(address: SocketAddress(ipv4: 0x0a01_0063, port: 0))
            stage.inner.send([3], to: stage.one.socket.localAddress)
            try stage.settle()
            #expect(stage.one.batches.last?.from == SocketAddress(ipv4: 0x0a01_0063, port: 10))
            stage.one.send([4], to: door)
            stage.one.send([5], to: SocketAddress(ipv4: 0x0a01_0063, port: 10))
            try stage.settle()
            #expect(stage.inner.packets == [[5]])
        }
    }

    @Test("a stateful firewall leaves addresses as they are, and lets in only what was asked for")
    func firewall() throws {
        try withStage({ $0.translates = false }) { stage in
            let inner = stage.inner.socket.localAddress
            stage.one.send([1], to: inner)
            try stage.settle()
            #expect(stage.inner.packets == [])
            stage.inner.send([2], to: stage.one.socket.localAddress)
            try stage.settle()
            #expect(stage.one.batches.last?.from == inner)
            stage.one.send([3], to: inner)
            try stage.settle()
            #expect(stage.inner.packets == [[3]])
        }
    }

    @Test(
        "neighbours behind one NAT reach each other by its outer address only if it hairpins", arguments: [false, true])
    func hairpin(_ hairpins: Bool) throws {
        try withStage({
            $0.hairpins = hairpins
            $0.filtering = .endpointIndependent
        }) { stage in
            let machine = stage.world.addNode("neighbour", behind: stage.box)
            let neighbour = try Mailbox(machine, machine.address(port: 30))
            neighbour.send([1], to: stage.one.socket.localAddress)
            try stage.settle()
            stage.inner.send([2], to: stage.box.address.with(port: 30))
            try stage.settle()
            #expect(neighbour.packets == (hairpins ? [[2]] : []))
            if hairpins { #expect(neighbour.batches.last?.from == stage.box.address.with(port: 10)) }
        }
    }

    @Test("a NAT behind another NAT is passed in both directions")
    func twoBoxes() throws {
        try withSimWorld(seed: 1) { world in
            let provider = world.addRouter("provider")
            let home = world.addRouter("home", behind: provider)
            let (inner, outer) = (world.addNode("inner", behind: home), world.addNode("outer"))
            let (left, right) = (
                try Mailbox(inner, inner.address(port: 10)), try Mailbox(outer, outer.address(port: 20))
            )
            left.send([1], to: right.socket.localAddress)
            try world.run(for: .seconds(1))
            #expect(right.batches.last?.from == provider.address.with(port: 10))
            right.send([2], to: provider.address.with(port: 10))
            try world.run(for: .seconds(1))
            #expect(left.packets == [[2]])
        }
    }

    @Test("a network without UDP lets none through")
    func noUDP() throws {
        try withStage({ $0.passesUDP = false }) { stage in
            stage.inner.send([1], to: stage.one.socket.localAddress)
            try stage.settle()
            #expect(stage.one.packets == [])
        }
    }

    @Test("a machine that moves is found at its new address and not at the old one; its sockets stay")
    func moves() throws {
        try withStage { stage in
            let machine = stage.one.node
            let socket = try Mailbox(machine, SocketAddress.anyIPv4.with(port: 40))
            let old = machine.address(port: 40)
            machine.move(to: [SocketAddress(ipv4: 0x0a00_0909, port: 0)])
            stage.other.send([1], to: old)
            stage.other.send([2], to: machine.address(port: 40))
            try stage.settle()
            #expect(socket.packets == [[2]])
            socket.send([3], to: stage.other.socket.localAddress)
            try stage.settle()
            #expect(stage.other.batches.last?.from == machine.address(port: 40))
            machine.move(to: [])
            socket.send([4], to: stage.other.socket.localAddress)
            try stage.settle()
            #expect(stage.other.packets == [[3]])
            machine.move(behind: stage.box)
            socket.send([5], to: stage.other.socket.localAddress)
            try stage.settle()
            #expect(stage.other.batches.last?.from == stage.box.address.with(port: 40))
        }
    }
}
