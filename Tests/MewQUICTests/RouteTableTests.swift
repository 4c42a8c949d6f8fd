import MewBase
import MewQUICCore
import Testing

@testable import MewQUIC

@Suite("Which packets belong to which path")
struct RouteTableTests {
    private static func outlet(_ text: String, from source: String? = nil) -> Outlet {
        Outlet(route: .direct(SocketAddress(text)!), source: source.map { SocketAddress($0)! })
    }

    private let first = outlet("192.0.2.1:1")
    private let second = outlet("192.0.2.2:2")

    @Test("a race sends to all candidates until one of them answers, and takes nothing from anybody else")
    func races() {
        var table = RouteTable(racing: [first, second])
        #expect(table.outlets(of: RouteTable.racingPath) == [first, second])
        #expect(table.path(for: second) == RouteTable.racingPath)
        #expect(table.path(for: Self.outlet("192.0.2.3:3")) == nil)
        table.settleRace(Self.outlet("192.0.2.3:3"))
        #expect(table.outlets(of: RouteTable.racingPath) == [first, second])
        table.settleRace(Self.outlet("192.0.2.2:2", from: "10.0.0.1:9"))
        #expect(table.outlets(of: RouteTable.racingPath) == [second])
        #expect(table.path(for: first) == nil)
    }

    @Test("of two paths to one address the one that leaves from where the packet came to is meant, else the newest")
    func tellsSourcesApart() {
        var table = RouteTable(racing: [first])
        let wifi = table.addPath([Self.outlet("192.0.2.1:1", from: "10.0.0.1:0")])
        let cable = table.addPath([Self.outlet("192.0.2.1:1", from: "10.0.0.2:0")])
        #expect(Set([RouteTable.racingPath, wifi, cable]).count == 3)
        #expect(table.path(for: Self.outlet("192.0.2.1:1", from: "10.0.0.1:4000")) == wifi)
        #expect(table.path(for: Self.outlet("192.0.2.1:1", from: "10.0.0.2:4000")) == cable)
        #expect(table.path(for: Self.outlet("192.0.2.1:1", from: "10.0.0.3:4000")) == RouteTable.racingPath)
        table.removePath(cable)
        #expect(table.path(for: Self.outlet("192.0.2.1:1", from: "10.0.0.2:4000")) == RouteTable.racingPath)
    }

    @Test("a check of several ways goes all of them until one has answered, whatever else comes in by another")
    func checksSeveral() {
        var table = RouteTable(racing: [first])
        let path = table.addPath([first, second])
        #expect(table.outlets(of: path) == [first, second])
        table.settleRace(first)
        #expect(table.outlets(of: path) == [first, second])
        table.settle(path, by: Self.outlet("192.0.2.3:3"))
        #expect(table.outlets(of: path) == [first, second])
        table.settle(path, by: Self.outlet("192.0.2.2:2", from: "10.0.0.1:9"))
        #expect(table.outlets(of: path) == [second])
    }

    @Test("a check that is widened goes by the new ways as well, and is won by whichever answers")
    func widens() {
        for winner in [first, second] {
            var table = RouteTable(racing: [Self.outlet("192.0.2.3:3")])
            let path = table.addPath([first])
            table.widen(path, by: [second])
            #expect(table.outlets(of: path) == [first, second])
            #expect(table.path(for: first) == path && table.path(for: second) == path)
            table.settle(path, by: winner)
            #expect(table.outlets(of: path) == [winner])
            table.removePath(path)
            table.widen(path, by: [second])
            #expect(table.outlets(of: path).isEmpty, "what is over stays over")
        }
    }

    @Test("a dialler that has moved keeps the eight newest paths, whichever it uses")
    func dropsOldPaths() {
        var table = RouteTable(racing: [first])
        let paths = (0..<8).map { table.addPath([Self.outlet("192.0.2.9:\($0 + 1)")]) }
        #expect(table.count == RouteTable.maxPaths + 1)
        table.pathChanged(to: RouteTable.racingPath)
        #expect(table.count == RouteTable.maxPaths)
        #expect(!table.outlets(of: RouteTable.racingPath).isEmpty)
        #expect(table.outlets(of: paths[0]).isEmpty)
        #expect(!table.outlets(of: paths[1]).isEmpty)
    }

    @Test("a listener answers where a genuine packet came from, from the address it came to")
    func answersFromWhereItCame() throws {
        var table = RouteTable(listeningOn: Self.outlet("192.0.2.1:1", from: "10.0.0.1:4000"))
        let path = RouteTable.listenerPath(first.route)
        #expect(table.path(for: second) == RouteTable.listenerPath(second.route))
        #expect(table.outlets(of: RouteTable.listenerPath(second.route)) == [])
        table.noteArrival(Self.outlet("192.0.2.1:1", from: "10.0.0.2:4000"), keeping: path)
        #expect(table.outlets(of: path) == [Self.outlet("192.0.2.1:1", from: "10.0.0.2:4000")])
        #expect(table.count == 1)
    }

    @Test("a peer that shows many addresses fills no memory, and never costs the path in use")
    func boundsListenersPaths() {
        var table = RouteTable(listeningOn: first)
        let current = RouteTable.listenerPath(first.route)
        for port in 1...100 { table.noteArrival(Self.outlet("192.0.2.7:\(port)"), keeping: current) }
        #expect(table.count == RouteTable.maxPaths)
        #expect(table.outlets(of: current) == [first])
        #expect(!table.outlets(of: RouteTable.listenerPath(.direct(SocketAddress("192.0.2.7:100")!))).isEmpty)
        #expect(table.outlets(of: RouteTable.listenerPath(.direct(SocketAddress("192.0.2.7:93")!))).isEmpty)
    }

    @Test(
        "what comes through a carrier after a silence is a path of its own, with the same way back, and so it is with an address"
    )
    func epochs() {
        let carried = Outlet(route: .carried(CarrierID(number: 1), peer: 7))
        var table = RouteTable(listeningOn: carried)
        let before = table.path(for: carried)!
        table.beginEpoch(of: carried.route, instead: before)
        let after = table.path(for: carried)!
        #expect(after != before && after != table.path(for: Outlet(route: .carried(CarrierID(number: 1), peer: 8))))
        #expect(table.outlets(of: after).isEmpty)
        table.noteArrival(carried, keeping: before)
        #expect(table.outlets(of: after) == [carried])
        #expect(table.outlets(of: before) == [carried])
        let direct = Self.outlet("192.0.2.1:1")
        #expect(table.path(for: direct) == RouteTable.listenerPath(direct.route))
        table.beginEpoch(of: direct.route, instead: RouteTable.listenerPath(direct.route))
        #expect(table.path(for: direct) != RouteTable.listenerPath(direct.route))
        #expect(table.path(for: carried) == after)
    }

    @Test("what comes by a way that the connection does not use is a move as it is, and begins nothing")
    func epochsElsewhere() {
        let carried = Outlet(route: .carried(CarrierID(number: 1), peer: 7))
        var table = RouteTable(listeningOn: carried)
        let (before, direct) = (table.path(for: carried)!, Self.outlet("192.0.2.1:1"))
        table.beginEpoch(of: direct.route, instead: before)
        #expect(table.path(for: direct) == RouteTable.listenerPath(direct.route))
        // The same way, before the connection has moved to the epoch that began.
        table.beginEpoch(of: carried.route, instead: before)
        let after = table.path(for: carried)!
        table.beginEpoch(of: carried.route, instead: before)
        #expect(table.path(for: carried) == after && after != before)
    }

    @Test("a path that leads another way keeps its name, and no other path changes")
    func reroutes() {
        var table = RouteTable(racing: [first])
        let (path, other) = (table.addPath([first]), table.addPath([first]))
        table.reroute(path, to: [second])
        #expect(table.outlets(of: path) == [second])
        #expect(table.outlets(of: other) == [first])
        #expect(table.path(for: second) == path)
    }

    @Test("carriers and the sockets never share a path, even for the same number")
    func separatesCarriers() {
        let routes: [Route] = [
            .direct(SocketAddress(ipv6High: 0x0100_0000_0000_0002, low: 7, port: 1)),
            .carried(CarrierID(number: 1), peer: 7), .carried(CarrierID(number: 2), peer: 7),
            .carried(CarrierID(number: 1), peer: 8),
        ]
        #expect(Set(routes.map { RouteTable.listenerPath($0) }).count == 4)
    }
}

@Suite("The ways of one dial")
struct RaceTests {
    private func address(_ port: UInt16) -> Route { .direct(.loopback(port: port)) }

    @Test("each way is tried once, sixteen at most, and what is known of each is told")
    func bounded() {
        var race = Race((0..<40).map { address($0 / 2) })
        #expect(race.live == (0..<16).map { address($0) })
        race.failed(address(3), "connection refused")
        race.failed(address(3), "something later")
        #expect(race.live.count == 15)
        let outcomes = race.outcomes(rest: "no answer").map(\.outcome)
        #expect(outcomes[3] == "connection refused")
        #expect(outcomes.filter { $0 == "no answer" }.count == 15)
    }
}
