import MewBase
import MewClient
import MewLoop

// A client instance as text: `NUMBER TICKS BOOT NONCE`. The first three name the process, the last one tells apart who opens the
// directory twice in one process.

extension ClientInstance {
    init(ofThisProcess entropy: some Entropy) {
        let process = ProcessIdentity.this
        let nonce = ULID(milliseconds: 0, entropy: entropy)
        self.init("\(process.number) \(process.startTicks) \(process.bootID) \(nonce)")
    }

    /// Nil for a text that this program did not make.
    var process: ProcessIdentity? {
        let parts = text.split(separator: " ")
        guard parts.count == 4, let number = Int32(parts[0]), let startTicks = UInt64(parts[1]) else { return nil }
        return ProcessIdentity(number: number, startTicks: startTicks, bootID: String(parts[2]))
    }
}
