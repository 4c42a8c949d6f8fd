package import MewIdentity
package import MewWire

extension PairingWindow {
    /// What the operator asked for.
    package struct Settings: Sendable {
        package let scope: Scope
        package let code: PairingDigest
        /// `--expect`: nobody but this key is admitted, with or without the code.
        package let expected: NodeID?
        /// A person sits at a terminal and can compare digits. Without one, nobody is let in by confirmation.
        package let canConfirm: Bool

        package init(scope: Scope, code: PairingDigest, expected: NodeID?, canConfirm: Bool) {
            self.scope = scope
            self.code = code
            self.expected = expected
            self.canConfirm = canConfirm
        }
    }

    /// A first message from a connection whose key may enter only through this window.
    package struct Hello: Sendable {
        package let connection: ConnectionNumber
        package let node: NodeID
        /// Cleaned; nil for an old phone, which sends no hello.
        package let name: String?
        /// The digest of the token it brought.
        package let code: PairingDigest?
        /// The six digits of its connection, if its screen shows them too.
        package let digits: String?
        package let source: PairingSource

        package init(
            connection: ConnectionNumber, node: NodeID, name: String?, code: PairingDigest?, digits: String?,
            source: PairingSource
        ) {
            self.connection = connection
            self.node = node
            self.name = name
            self.code = code
            self.digits = digits
            self.source = source
        }
    }

    /// What happens to a window.
    package enum Event: Sendable {
        case hello(Hello)
        case confirm(KnockNumber)
        case refuse(KnockNumber)
        /// The store finished what `Action.store` asked for.
        case stored(Bool)
        /// A connection that has said hello here is gone.
        case left(ConnectionNumber)
        /// The operator closed the window, or the screen that showed it is gone.
        case cancel
    }

    /// What the daemon has to do.
    package enum Action: Equatable, Sendable {
        case show(Notice)
        /// The knock waits for a person, until the window closes at the latest.
        case hold(ConnectionNumber, expiresIn: Duration)
        /// Write the device down, then feed `.stored`.
        case store(Grant)
        /// The device is written down: tell it that it is in.
        case admit(ConnectionNumber)
        case refuse(ConnectionNumber, Refusal)
    }

    /// What a new device gets.
    package struct Grant: Equatable, Sendable {
        package let connection: ConnectionNumber
        package let node: NodeID
        package let name: String?
        package let scope: Scope
        package let proof: Proof
    }

    /// Why a device was let in.
    package enum Proof: String, Equatable, Sendable {
        case code, confirmed, expected
    }

    /// Why a hello did not lead in; the raw values are stable.
    package enum Refusal: String, Equatable, Sendable, CaseIterable {
        case wrongCode = "wrong_code"
        case shutOut = "shut_out"
        case codeUsed = "code_used"
        case notExpected = "not_expected"
        case nobodyToConfirm = "nobody_to_confirm"
        case tooManyKnocks = "too_many_knocks"
        case refusedByOperator = "refused_by_operator"
        case replaced
        case notSaved = "not_saved"
        case windowClosed = "window_closed"
    }

    /// What the screen that shows the code shows of it (NEEDS N-23: everything).
    package enum Notice: Equatable, Sendable {
        case knock(Knock)
        case knockLeft(KnockNumber)
        case knockRefused(NodeID, Refusal)
        case wrongCode(NodeID, tries: Int)
        case shutOut(NodeID)
        case slowed(PairingSource)
        case paired(Grant)
        /// The code was right but the device could not be written down; the code still works.
        case notSaved(NodeID)
        /// Somebody else brought the code after it was used.
        case usedAgain(NodeID)
        /// An answer for a knock that is not on the screen.
        case noSuchKnock(KnockNumber)
        case expired
        case closed
    }
}
