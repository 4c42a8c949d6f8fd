package import MewWire

/// Which requests this daemon answers, and of whom: the one place that enforces scopes for every message type (DESIGN §11,
/// spec/native-wire.md §5). Whether a request came on the right channel is told where the channel is served.
package enum RequestRules {
    /// Why a request is not handled: the code for programs, the sentence for people.
    package struct Refusal: Error, Equatable, Sendable {
        package let code: ErrorCode
        package let sentence: String
    }

    /// - Parameter hasOperation: the request carries an `op_id`.
    package static func check(
        _ kind: ClientMessage.Kind, on link: ApplicationProtocol, scope: Scope, hasOperation: Bool
    ) throws(Refusal) {
        guard kind.isServed else {
            throw Refusal(code: .unknownType, sentence: "this daemon does not serve \(kind.rawValue) yet")
        }
        guard scope >= kind.neededScope else {
            // The exact words of the stock daemon (spec/mew-wire.md §2.4).
            throw Refusal(
                code: .scope, sentence: "remote access scope `\(scope.rawValue)` does not allow this operation")
        }
        guard link == .stock || !kind.changesSomething || hasOperation else {
            throw Refusal(code: .opIDRequired, sentence: "\(kind.rawValue) needs an op_id")
        }
    }
}

extension ClientMessage.Kind {
    /// False for what is defined and comes with a later version: refused by code, so that a newer client can tell.
    package var isServed: Bool {
        SessionMessages.contains(self) || self == .remoteHello || self == .ping || self == .listDir
    }
}
