package import MewLoop
import MewWire
import Synchronization

/// Answers the commands of this machine on the socket in the state directory (`ControlRequest`).
///
/// The socket belongs to its owner (mode 0600) and the kernel says who connects (NEEDS N-46: no TCP, no token). Runs on the
/// daemon's loop; each connection is a task, handled one request at a time.
package struct ControlServer: Sendable {
    private let daemon: Daemon
    private let listener: UnixListener
    private let status: @Sendable () async -> ControlStatus
    private let net: @Sendable () async -> ControlNet
    private let place: @Sendable () async -> Place
    private let shutDown: @Sendable () -> Void

    /// Where the daemon can be dialled, for the payload of a pairing.
    package struct Place: Sendable {
        package let addresses: [String]
        package let relays: [String]
        /// Those of them that are shown a token.
        package let tokenRelays: [String]

        package init(addresses: [String], relays: [String], tokenRelays: [String] = []) {
            self.addresses = addresses
            self.relays = relays
            self.tokenRelays = tokenRelays
        }
    }

    /// Commands at work at once. A script that leaks connections is told, not served.
    private static let maxConnections = 64

    /// - Parameters:
    ///   - status: everything `mew status` shows.
    ///   - net: everything `mew net` shows; takes some seconds.
    ///   - shutDown: ends the daemon as SIGTERM does; returns at once.
    package init(
        _ daemon: Daemon, listener: UnixListener, status: @escaping @Sendable () async -> ControlStatus,
        net: @escaping @Sendable () async -> ControlNet, place: @escaping @Sendable () async -> Place,
        shutDown: @escaping @Sendable () -> Void
    ) {
        self.daemon = daemon
        self.listener = listener
        self.status = status
        self.net = net
        self.place = place
        self.shutDown = shutDown
    }

    /// Serves until the task is cancelled or the listener closed.
    package func run() async {
        let served = Served()
        await withDiscardingTaskGroup { group in
            while let socket = await listener.accept() {
                group.addTask {
                    await serve(socket, isOneTooMany: served.begin() > Self.maxConnections)
                    served.end()
                }
            }
            group.cancelAll()
        }
    }

    private func serve(_ socket: StreamSocket, isOneTooMany: Bool) async {
        let connection = Connection(socket: socket)
        if isOneTooMany {
            let error = ControlError(
                code: "busy", message: "\(Self.maxConnections) commands are talking to this daemon already")
            _ = await connection.send(.refused(error))
            return await socket.close()
        }
        while let request = await connection.request() {
            if case .pair(let pair) = request {
                await servePairing(pair, connection)
                break
            }
            guard await connection.send(await answer(request)) else { break }
        }
        await socket.close()
    }

    // MARK: One request, one reply

    private func answer(_ request: ControlRequest) async -> ControlReply {
        do throws(ControlError) {
            return try await perform(request)
        } catch {
            return .refused(error)
        }
    }

    private func perform(_ request: ControlRequest) async throws(ControlError) -> ControlReply {
        switch request {
        case .peers: return .peers(await daemon.peers())
        case .rename(let node, let name): try await daemon.rename(node, to: name)
        case .setScope(let node, let scope): try await daemon.setScope(scope, of: node)
        case .revoke(let node): return .revoked(connections: try await daemon.revoke(node))
        case .revokeAll: return .revoked(connections: try await daemon.revokeAll())
        case .status: return .status(await status())
        case .net: return .net(await net())
        case .shutdown: shutDown()
        case .pair, .confirm, .refuse:
            throw ControlError(code: "bad_input", message: "no pairing window was opened on this connection")
        }
        return .done
    }

    // MARK: Pairing

    /// The window lives as long as the connection that shows it.
    private func servePairing(_ request: ControlRequest.PairRequest, _ connection: Connection) async {
        let opened: (number: Daemon.WindowNumber, events: AsyncStream<PairingEvent>)
        do throws(ControlError) {
            opened = try await daemon.openWindow(request)
        } catch {
            _ = await connection.send(.refused(error))
            return
        }
        let place = await place()
        let window = ControlWindow(
            node: daemon.description.node, name: daemon.description.name, secondsLeft: request.seconds,
            addresses: place.addresses, relays: place.relays, tokenRelays: place.tokenRelays)
        _ = await connection.send(.window(window))
        await withTaskGroup { group in
            group.addTask {
                for await event in opened.events {
                    guard await connection.send(.event(event)) else { return }
                }
            }
            group.addTask { await readAnswers(connection, opened.number) }
            // Whichever ends first: the window is closed, or its screen is gone.
            await group.next()
            await daemon.closeWindow(opened.number)
            group.cancelAll()
        }
    }

    private func readAnswers(_ connection: Connection, _ number: Daemon.WindowNumber) async {
        while let request = await connection.request() {
            switch request {
            case .confirm(let knock): await daemon.answerKnock(knock, confirmed: true, in: number)
            case .refuse(let knock): await daemon.answerKnock(knock, confirmed: false, in: number)
            case .pair, .peers, .rename, .setScope, .revoke, .revokeAll, .status, .net, .shutdown:
                let error = ControlError(code: "busy", message: "this connection shows a pairing window")
                guard await connection.send(.refused(error)) else { return }
            }
        }
    }
}

/// How many commands are at work.
private final class Served: Sendable {
    private let count = Mutex(0)

    /// The number with the new one.
    func begin() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    func end() {
        count.withLock { $0 -= 1 }
    }
}

/// One command's connection: lines in, lines out.
private struct Connection: Sendable {
    let socket: StreamSocket

    /// The next request; nil at the end. What is no request is refused and skipped.
    func request() async -> ControlRequest? {
        while let line = try? await socket.readLine(maxBytes: ControlRequest.maxLineBytes) {
            do throws(ControlError) {
                return try ControlRequest(try Self.parse(line))
            } catch {
                guard await send(.refused(error)) else { return nil }
            }
        }
        return nil
    }

    private static func parse(_ line: [UInt8]) throws(ControlError) -> JSON {
        do throws(JSONError) {
            return try JSON(parsing: line)
        } catch {
            throw ControlError(code: "bad_input", message: "not a request: \(error)")
        }
    }

    /// False when the command is gone.
    func send(_ reply: ControlReply) async -> Bool {
        (try? await socket.write(reply.json.utf8 + [UInt8(ascii: "\n")])) != nil
    }
}
