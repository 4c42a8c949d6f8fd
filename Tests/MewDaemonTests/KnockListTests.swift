import MewBase
import Testing

@testable import MewDaemon

@Suite("Knocks")
struct KnockListTests {
    private let start = Pairing.start

    private func add(_ list: inout KnockList, _ number: Int, source: UInt8? = nil) -> KnockList.Arrival {
        list.add(
            node: Pairing.numberedNode(number), name: nil, digits: nil, connection: ConnectionNumber(UInt64(number)),
            source: Pairing.source(source ?? UInt8(number)))
    }

    @Test("eight wait, the ninth is full")
    func capacity() {
        var list = KnockList()
        for number in 1...8 { #expect(add(&list, number) == .waiting) }
        #expect(add(&list, 9) == .full)
    }

    @Test("one source holds four places, not five")
    func perSource() {
        var list = KnockList()
        for number in 1...4 { #expect(add(&list, number, source: 9) == .waiting) }
        #expect(add(&list, 5, source: 9) == .full)
        #expect(add(&list, 6, source: 10) == .waiting)
    }

    @Test("one line a second, and none is lost")
    func pace() {
        var list = KnockList()
        for number in 1...3 { _ = add(&list, number) }
        #expect(list.show(now: start)?.number == KnockNumber(1))
        #expect(list.show(now: start.plus(.nanoseconds(999_999_999))) == nil)
        #expect(list.nextDeadline == start.plus(.seconds(1)))
        #expect(list.show(now: start.plus(.seconds(1)))?.number == KnockNumber(2))
        #expect(list.show(now: start.plus(.seconds(2)))?.number == KnockNumber(3))
        #expect(list.nextDeadline == nil)
    }

    @Test("the same key has one line: its new connection takes the place of the former")
    func oneLinePerKey() {
        var list = KnockList()
        let node = Pairing.phone
        func knock(_ connection: UInt64) -> KnockList.Arrival {
            list.add(
                node: node, name: nil, digits: nil, connection: ConnectionNumber(connection), source: Pairing.source())
        }
        #expect(knock(1) == .waiting)
        #expect(knock(2) == .replaced(ConnectionNumber(1)))
        #expect(list.removeAll().map(\.connection) == [ConnectionNumber(2)])
    }

    @Test("a knock nobody has seen cannot be confirmed")
    func onlyShownKnocksAreTaken() {
        var list = KnockList()
        _ = add(&list, 1)
        #expect(list.take(KnockNumber(1)) == nil)
        _ = list.show(now: start)
        #expect(list.take(KnockNumber(1)) != nil)
        #expect(list.take(KnockNumber(1)) == nil)
    }
}
