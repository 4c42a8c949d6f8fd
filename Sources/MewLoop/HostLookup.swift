internal import CSys
package import MewBase
internal import Synchronization

/// Asks the system for the addresses of host names. Its resolver blocks, for many seconds when no name server answers, so that
/// it runs on a few threads of its own: a dead resolver holds up names and nothing else.
///
/// The threads end when nobody asks; there is nothing to stop.
package final class HostLookup: Sendable {
    /// There are no addresses, and why.
    package struct Failure: Error, Hashable, CustomStringConvertible {
        package enum Cause: Hashable, Sendable {
            /// The answer is that the name has none.
            case noAddress
            /// There is no answer: no network, no name server, or nobody could ask.
            case noAnswer
        }

        package let cause: Cause
        package let host: String
        package let reason: String

        package init(_ cause: Cause, host: String, reason: String) {
            (self.cause, self.host, self.reason) = (cause, host, reason)
        }

        package var description: String { "no address for \(host.printable(limit: 64)): \(reason)" }
    }

    package typealias Answer = Result<[SocketAddress], Failure>
    /// Blocks until it knows.
    package typealias Resolver = @Sendable (_ host: String, _ port: UInt16) -> Answer

    /// More are never tried by one dial.
    package static let maxAddresses = 8
    /// Names that are looked up side by side: those of a few relays. Look-ups that nobody waits for any more count until the
    /// resolver gives them up.
    package static let maxThreads = 4
    /// Who asks for more gets no answer: a dial and some relays are far from it.
    package static let maxWaiting = 64

    private struct Question {
        let number: UInt64
        let host: String
        let port: UInt16
    }

    private struct State {
        var last: UInt64 = 0
        var threads = 0
        /// Those no thread has taken yet.
        var waiting: [Question] = []
        /// Of those that somebody waits for.
        var askers: [UInt64: CheckedContinuation<Answer, Never>] = [:]
    }

    private let resolve: Resolver
    private let state = Mutex(State())

    /// - Parameter resolve: another one in tests.
    package init(_ resolve: @escaping Resolver = HostLookup.system) {
        self.resolve = resolve
    }

    /// At least one address, in the order they should be tried. An IP address needs no resolver.
    ///
    /// A cancelled task has its answer at once; the resolver cannot be interrupted, and what it finds is thrown away.
    package func addresses(of host: String, port: UInt16) async throws(Failure) -> [SocketAddress] {
        if let address = Self.literal(host, port: port) { return [address] }
        guard !host.utf8.contains(0) else { throw Failure(.noAddress, host: host, reason: "not a host name") }
        return try await answer(host, port).get()
    }

    /// `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`.
    private static func literal(_ host: String, port: UInt16) -> SocketAddress? {
        let bracketed = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return SocketAddress("\(bracketed):\(port)")
    }

    private func answer(_ host: String, _ port: UInt16) async -> Answer {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { asker in
                ask(Question(number: number, host: host, port: port), asker)
                // The handler may have run before there was somebody to tell.
                if Task.isCancelled { abandon(number, host) }
            }
        } onCancel: {
            abandon(number, host)
        }
    }

    // MARK: Questions

    private enum Entrance {
        case waits, needsThread, isFull
    }

    private func ask(_ question: Question, _ asker: CheckedContinuation<Answer, Never>) {
        let entrance = state.withLock { state -> Entrance in
            guard state.waiting.count < Self.maxWaiting else { return .isFull }
            state.askers[question.number] = asker
            state.waiting.append(question)
            guard state.threads < Self.maxThreads else { return .waits }
            state.threads += 1
            return .needsThread
        }
        switch entrance {
        case .waits: break
        case .isFull:
            asker.resume(
                returning: .failure(.init(.noAnswer, host: question.host, reason: "too many look-ups at once")))
        case .needsThread: startThread(for: question)
        }
    }

    private func abandon(_ number: UInt64, _ host: String) {
        state.withLock { $0.waiting.removeAll { $0.number == number } }
        tell(number, .failure(Failure(.noAnswer, host: host, reason: "cancelled")))
    }

    private func tell(_ number: UInt64, _ answer: Answer) {
        state.withLock { $0.askers.removeValue(forKey: number) }?.resume(returning: answer)
    }

    // MARK: Threads

    private func startThread(for question: Question) {
        let context = Unmanaged.passRetained(self)
        let error = csys_thread_start(
            "mew-names", { Unmanaged<HostLookup>.fromOpaque($0!).takeRetainedValue().work() }, context.toOpaque())
        guard error != 0 else { return }
        context.release()
        state.withLock { state in
            state.threads -= 1
            state.waiting.removeAll { $0.number == question.number }
        }
        tell(
            question.number, .failure(Failure(.noAnswer, host: question.host, reason: "no thread for the look-up")))
    }

    private func work() {
        while let question = next() { tell(question.number, resolve(question.host, question.port)) }
    }

    /// Nil, and one thread less, when there is none.
    private func next() -> Question? {
        state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.threads -= 1
            return nil
        }
    }

    // MARK: The system

    package static let system: Resolver = { host, port in
        var found = [csys_address](repeating: csys_address(), count: maxAddresses)
        let count = csys_resolve(host, port, &found, Int32(maxAddresses))
        guard count >= 0 else { return .failure(Failure(code: count, host: host)) }
        guard count > 0 else { return .failure(Failure(.noAddress, host: host, reason: "it has no IP address")) }
        return .success(found.prefix(Int(count)).map { SocketAddress($0) })
    }
}

extension HostLookup.Failure {
    /// - Parameter code: of `csys_resolve`.
    init(code: Int32, host: String) {
        let reason = csys_resolve_reason(code).map { String(cString: $0) } ?? "error \(code)"
        self.init(
            csys_resolve_says_none(code) ? .noAddress : .noAnswer, host: host,
            reason: reason.prefix(1).lowercased() + reason.dropFirst())
    }
}
