import MewDaemon
import MewLoop
import MewNode
import MewWire

/// A conversation with the daemon of this machine, over the socket in the state directory (see `ControlRequest`).
struct ControlConnection: Sendable {
    private let socket: StreamSocket

    /// Nil when no daemon runs for this state directory.
    static func open(_ context: CommandContext) throws(CommandFailure) -> ControlConnection? {
        let path = try context.stateDirectory().path(StateDirectory.Name.controlSocket)
        do throws(SystemError) {
            return ControlConnection(socket: try StreamSocket.connect(to: path, on: context.runtime.loop))
        } catch {
            // A file that nobody listens on is what a killed daemon leaves behind.
            if error.kind == .notFound || error.kind == .connectionRefused { return nil }
            throw CommandFailure(.internal, "could not ask the daemon on this machine: \(error)")
        }
    }

    /// As `open`, for commands that mean nothing without a daemon.
    static func openRequired(_ context: CommandContext) throws(CommandFailure) -> ControlConnection {
        guard let connection = try open(context) else {
            throw CommandFailure(
                .unreachable, "no daemon runs for the state directory \(context.home)",
                hint: "Start it with 'mew daemon'.")
        }
        return connection
    }

    func send(_ request: ControlRequest) async throws(CommandFailure) {
        do throws(StreamError) {
            try await socket.write(request.json.utf8 + [UInt8(ascii: "\n")])
        } catch {
            throw Self.lost(error)
        }
    }

    /// The next line; nil for an event that only a newer client knows.
    func receive() async throws(CommandFailure) -> ControlReply? {
        let line: [UInt8]?
        do throws(StreamError) {
            line = try await socket.readLine(maxBytes: ControlRequest.maxLineBytes)
        } catch {
            throw Self.lost(error)
        }
        guard let line else { throw CommandFailure(.unreachable, "the daemon on this machine went away") }
        let json: JSON
        do throws(JSONError) {
            json = try JSON(parsing: line)
        } catch {
            throw CommandFailure(.protocol, "the daemon on this machine answered something that is no JSON")
        }
        do throws(ControlError) {
            return try ControlReply(json)
        } catch {
            throw CommandFailure(.protocol, "the daemon on this machine answered something else: \(error)")
        }
    }

    /// One request and its reply; a refusal is thrown.
    func ask(_ request: ControlRequest) async throws(CommandFailure) -> ControlReply {
        try await send(request)
        guard let reply = try await receive() else {
            throw CommandFailure(
                .protocol, "the daemon on this machine is newer than this command", hint: "Update mew.")
        }
        if case .refused(let error) = reply { throw CommandFailure(error) }
        return reply
    }

    func close() async {
        await socket.close()
    }

    private static func lost(_ error: StreamError) -> CommandFailure {
        CommandFailure(.unreachable, "the daemon on this machine went away: \(error)")
    }
}

extension CommandFailure {
    init(_ error: ControlError) {
        self.init(ErrorCode(rawValue: error.code) ?? .internal, error.message)
    }
}
