package import MewWire
internal import Synchronization

/// Charges what one channel keeps of an unfinished message to the budget of its peer, once the peer is known.
package final class ReceiveCharge: Sendable {
    /// Messages are short as a rule: below this it would be the bookkeeping that costs.
    private static let freeBytes = 4 << 10

    private let account: Account
    private let share = Mutex<ByteBudget.Share?>(nil)

    /// The budget of a link's peer, known from `authorize` on: until then flow control keeps all its channels below 64 KiB.
    package final class Account: Sendable {
        private let budget = Mutex<ByteBudget?>(nil)

        package init() {}

        package func open(_ budget: ByteBudget) { self.budget.withLock { $0 = budget } }

        fileprivate func share() -> ByteBudget.Share? { budget.withLock { $0?.share() } }
    }

    package init(to account: Account) {
        self.account = account
    }

    /// - Throws: `protocolViolation` when the peer has too much of that kind in all its channels.
    func hold(_ count: Int) throws(ChannelError) {
        let isWithin = share.withLock { share in
            if share == nil {
                guard count > Self.freeBytes else { return true }
                share = account.share()
            }
            return share?.hold(count > Self.freeBytes ? count : 0) ?? true
        }
        guard isWithin else { throw .protocolViolation("too much is unfinished in all channels of this device") }
    }
}
