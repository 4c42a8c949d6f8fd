internal import MewBase
package import MewLoop

/// Makes byte streams to `host:port`: looks the name up, tries its addresses one after the other with a head start, and shakes
/// hands when TLS is wanted.
package struct StreamDialler: Sendable {
    private let loop: EventLoop
    let names: HostLookup

    /// How long one address may take before it is given up (spec/iroh-wire.md §4.1).
    package static let attemptLimit: Duration = .milliseconds(1_500)
    /// RFC 8305 §5: "a recommended value is 250 milliseconds".
    package static let headStart: Duration = .milliseconds(250)

    package init(on loop: EventLoop, names: HostLookup = HostLookup()) {
        self.loop = loop
        self.names = names
    }

    /// Connects within `limit`.
    ///
    /// - Parameters:
    ///   - host: a DNS name or an IP address; with TLS the certificate must be for it.
    ///   - tls: whom to believe; nil connects without TLS.
    package func connect(
        host: String, port: UInt16, tls: TLSTrust?, within limit: Duration = .seconds(10)
    ) async throws(StreamFailure) -> any TCPStream {
        let dialled = await withTimeLimit(limit, on: loop) {
            await caught { () throws(StreamFailure) in try await dial(host, port, tls) }
        }
        return try dialled.result(late: .timedOut).get()
    }

    func addresses(of host: String, port: UInt16) async throws(StreamFailure) -> [SocketAddress] {
        do throws(HostLookup.Failure) {
            return try await names.addresses(of: host, port: port)
        } catch {
            throw .lookup(error)
        }
    }

    private func dial(_ host: String, _ port: UInt16, _ tls: TLSTrust?) async throws(StreamFailure) -> any TCPStream {
        let (socket, address) = try await race(try await addresses(of: host, port: port))
        guard let tls else { return PlainStream(socket, to: address) }
        return try await TLSStream.connect(over: socket, to: address, trust: tls, host: host, on: loop)
    }

    /// The first that connects; the failure of the first address when none does.
    private func race(_ addresses: [SocketAddress]) async throws(StreamFailure) -> (StreamSocket, SocketAddress) {
        let result = await withTaskGroup(of: (Int, Result<StreamSocket, StreamFailure>).self) { group in
            for (index, address) in addresses.enumerated() {
                group.addTask { (index, await attempt(address, after: Self.headStart * index)) }
            }
            var failures: [Int: StreamFailure] = [:]
            var winner: (StreamSocket, SocketAddress)?
            for await (index, outcome) in group {
                switch outcome {
                case .success(let socket) where winner == nil:
                    winner = (socket, addresses[index])
                    group.cancelAll()
                case .success(let socket):
                    await socket.close()
                case .failure(let failure):
                    failures[index] = failure
                }
            }
            return winner.map { .success($0) } ?? Result.failure(failures[0] ?? .closed)
        }
        return try result.get()
    }

    private func attempt(_ address: SocketAddress, after delay: Duration) async -> Result<StreamSocket, StreamFailure> {
        if delay > .zero, await LoopClock(loop).pause(for: delay) == .cancelled { return .failure(.cancelled) }
        let connected = await withTimeLimit(Self.attemptLimit, on: loop) {
            await caught { () throws(StreamFailure) in
                do throws(StreamError) {
                    return try await StreamSocket.connect(to: address, on: loop)
                } catch {
                    throw StreamFailure(error)
                }
            }
        }
        return connected.result(late: .timedOut)
    }
}

private func caught<Value: Sendable>(
    _ body: () async throws(StreamFailure) -> Value
) async -> Result<Value, StreamFailure> {
    do throws(StreamFailure) {
        return .success(try await body())
    } catch {
        return .failure(error)
    }
}
