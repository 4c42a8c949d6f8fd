internal import MewSim
internal import Synchronization

/// A disk in memory that forgets what was not synced, as a machine does that loses its power.
///
/// SQLite reads and writes it through a file system layer of its own (`ForgetfulDisk+VFS.swift`). Killing a process proves
/// nothing about durability, because the kernel keeps what was written; this does. After `crash(seed:)` every handle that was
/// open before it is dead.
package final class ForgetfulDisk: Sendable {
    /// The name under which SQLite knows this disk; pass it where a store takes a `vfs`.
    package let name: String

    struct State {
        var files: [String: File] = [:]
        /// Handles opened in an earlier life answer with errors.
        var life = 0
        /// Bytes that may still be written; nil is no limit.
        var room: Int?
        var syncs = 0
        var bytesRead = 0
        /// Syncs that are still to fail.
        var failingSyncs = 0
        var temporaries = 0
    }

    struct File {
        var bytes: [UInt8] = []
        /// What was done since the last sync, with what it replaced. A crash keeps any part of it.
        var pending: [Change] = []
        /// A file that was never synced may be gone after a crash.
        var isDurable = false
    }

    enum Change {
        /// `old` is what stood there; shorter than `new` where the file grew.
        case write(offset: Int, new: [UInt8], old: [UInt8])
        case truncate(size: Int, cut: [UInt8])
    }

    let state = Mutex(State())

    /// SQLite finds a layer by its name: two disks of one name, alive at once, would write to each other's memory.
    private static let count = Atomic<Int>(0)

    /// - Parameter label: for whoever reads a trace; need not be unique.
    package init(label: String) {
        name = "forgetful-\(label)-\(Self.count.add(1, ordering: .relaxed).newValue)"
        register()
    }

    deinit {
        unregister()
    }

    /// How often something was made durable so far.
    package var syncs: Int { state.withLock { $0.syncs } }

    /// How much was read so far.
    package var bytesRead: Int { state.withLock { $0.bytesRead } }

    /// From now on only `bytes` more fit; nil lifts the limit.
    package func limitRoom(to bytes: Int?) {
        state.withLock { $0.room = bytes }
    }

    /// The next `count` syncs fail. What they were to make durable stays written, and a crash keeps any part of it.
    package func failSyncs(_ count: Int) {
        state.withLock { $0.failingSyncs = count }
    }

    /// Loses power: keeps what was synced and, of what was not, a part that `seed` chooses; some writes arrive torn.
    package func crash(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        state.withLock { state in
            state.life += 1
            (state.room, state.failingSyncs) = (nil, 0)
            // In a fixed order, so that one seed gives one outcome.
            for name in state.files.keys.sorted() {
                guard let file = state.files[name] else { continue }
                state.files[name] = file.afterCrash(&random)
            }
        }
    }

    /// Writes to a file and does not sync it.
    package func writeUnsynced(_ name: String, _ bytes: [UInt8]) {
        state.withLock { state in
            state.files[name, default: File()].write(bytes, at: 0)
        }
    }

    /// Overwrites part of a file behind SQLite's back, as a failing disk does.
    package func corrupt(file suffix: String, at offset: Int, with bytes: [UInt8]) {
        state.withLock { state in
            for name in state.files.keys where name.hasSuffix(suffix) {
                state.files[name]?.write(bytes, at: offset)
                state.files[name]?.sync()
            }
        }
    }

    /// The size of the first file whose name ends so; zero when there is none.
    package func size(ofFile suffix: String) -> Int {
        state.withLock { state in
            state.files.first { $0.key.hasSuffix(suffix) }?.value.bytes.count ?? 0
        }
    }
}

extension ForgetfulDisk.File {
    mutating func write(_ new: [UInt8], at offset: Int) {
        let end = min(bytes.count, offset + new.count)
        let old = offset < end ? Array(bytes[offset..<end]) : []
        pending.append(.write(offset: offset, new: new, old: old))
        put(new, at: offset)
    }

    mutating func truncate(to size: Int) {
        guard size < bytes.count else { return }
        pending.append(.truncate(size: size, cut: Array(bytes[size...])))
        bytes.removeLast(bytes.count - size)
    }

    mutating func sync() {
        pending = []
        isDurable = true
    }

    fileprivate mutating func put(_ new: [UInt8], at offset: Int) {
        let end = offset + new.count
        if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
        bytes.withUnsafeMutableBytes { $0[offset..<end].copyBytes(from: new) }
    }

    /// The file as it is found after the crash: everything since the last sync undone, then done again in part.
    fileprivate func afterCrash(_ random: inout SeededGenerator) -> ForgetfulDisk.File? {
        guard isDurable || random.next() % 2 == 0 else { return nil }
        var file = self
        for change in pending.reversed() { file.undo(change) }
        for change in pending { file.redo(change, &random) }
        file.sync()
        return file
    }

    private mutating func undo(_ change: ForgetfulDisk.Change) {
        switch change {
        case .write(let offset, let new, let old):
            put(old, at: offset)
            // What it added lies at the end, because everything later is undone already.
            if old.count < new.count { bytes.removeLast(min(bytes.count, offset + new.count) - offset - old.count) }
        case .truncate(_, let cut):
            bytes += cut
        }
    }

    /// Disks write whole sectors.
    private static let sector = 512

    /// All of the change arrives, nothing of it, or its first sectors.
    private mutating func redo(_ change: ForgetfulDisk.Change, _ random: inout SeededGenerator) {
        switch (random.next() % 4, change) {
        case (0, _):
            break
        case (1, .write(let offset, let new, _)):
            put(Array(new.prefix(Self.sector * Int(random.next() % 8))), at: offset)
        case (_, .write(let offset, let new, _)):
            put(new, at: offset)
        case (_, .truncate(let size, _)):
            if size < bytes.count { bytes.removeLast(bytes.count - size) }
        }
    }
}
