import Glibc
import MewBase
import MewLoop
import MewWire

struct ListenOptions: Sendable {
    /// A known key: 32 bytes of this value. Absent: a new one.
    var seed: UInt8?
    var bind = SocketAddress.loopback(port: 0)
    /// Closes every peer before its first stream.
    var refuses = false
    /// Where it can be reached as well; ready when it is there.
    var relays: [RelayURL] = []
}

struct Arguments {
    private var rest: ArraySlice<String>

    init(_ arguments: [String]) {
        rest = arguments[...]
    }

    mutating func next() -> String? { rest.popFirst() }

    mutating func listenOptions() -> ListenOptions {
        var options = ListenOptions()
        while let option = next() {
            switch option {
            case "--seed":
                guard let seed = next().flatMap({ UInt8($0) }) else { stop(2) }
                options.seed = seed
            case "--bind":
                guard let address = next().flatMap({ SocketAddress($0) }) else { stop(2) }
                options.bind = address
            case "--refuse": options.refuses = true
            case "--relay":
                guard let url = next().flatMap({ try? RelayURL($0) }) else { stop(2) }
                options.relays.append(url)
            default: stop(2)
            }
        }
        return options
    }

    mutating func flooding(on loop: EventLoop) -> Flooding {
        guard let url = next().flatMap({ try? RelayURL($0) }), let seconds = next().flatMap({ Int($0) }) else {
            stop(2)
        }
        return Flooding(url: url, loop: loop, duration: .seconds(seconds))
    }

    mutating func holdOptions() -> HoldOptions {
        var options = HoldOptions()
        while let option = next() {
            guard let value = next() else { stop(2) }
            switch option {
            case "--relay": options.relays.append(value)
            case "--addr":
                guard let address = SocketAddress(value) else { stop(2) }
                options.addresses.append(address)
            case "--bytes":
                guard let count = Int(value) else { stop(2) }
                options.byteCount = count
            case "--ways": options.ways = value.split(separator: ",").map(String.init)
            default: stop(2)
            }
        }
        return options
    }
}

/// One line on stdout, at once: whoever runs us waits for it.
func report(_ object: JSONObject) {
    let line = Array((JSON.object(object).text + "\n").utf8)
    _ = write(STDOUT_FILENO, line, line.count)
}

func stop(_ status: Int32) -> Never {
    exit(status)
}
