import Glibc
import MewBase
import MewWire

struct ListenOptions: Sendable {
    /// A known key: 32 bytes of this value. Absent: a new one.
    var seed: UInt8?
    var bind = SocketAddress.loopback(port: 0)
    /// Closes every peer before its first stream.
    var refuses = false
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
