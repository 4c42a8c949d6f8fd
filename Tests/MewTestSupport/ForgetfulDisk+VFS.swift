internal import CSQLite
internal import Synchronization

// The file system layer of sqlite.org/vfs.html for a `ForgetfulDisk`. Databases on it are opened with `locking_mode=EXCLUSIVE`, so
// that no shared memory is needed; locks are not modelled.

extension ForgetfulDisk {
    /// Registered layers by the name of their disk.
    private static let layers = Mutex<[String: Layer]>([:])

    /// Never freed: a connection that an abandoned task of a simulated world closes late still calls through it. `@unchecked`
    /// because the pointer refers to plain memory that is written once, before it is shared.
    private struct Layer: @unchecked Sendable {
        let vfs: UnsafeMutablePointer<sqlite3_vfs>
    }

    /// What a layer knows of its disk, which may be gone.
    private final class Place: Sendable {
        weak let disk: ForgetfulDisk?

        init(_ disk: ForgetfulDisk) {
            self.disk = disk
        }
    }

    func register() {
        let text = name.utf8CString
        let cName = UnsafeMutablePointer<CChar>.allocate(capacity: text.count)
        text.withUnsafeBufferPointer { cName.update(from: $0.baseAddress!, count: $0.count) }
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: Self.makeVFS(name: cName))
        vfs.pointee.pAppData = Unmanaged.passRetained(Place(self)).toOpaque()
        sqlite3_vfs_register(vfs, 0)
        Self.layers.withLock { $0[name] = Layer(vfs: vfs) }
    }

    func unregister() {
        guard let layer = Self.layers.withLock({ $0.removeValue(forKey: name) }) else { return }
        sqlite3_vfs_unregister(layer.vfs)
    }

    private static func makeVFS(name: UnsafePointer<CChar>) -> sqlite3_vfs {
        var vfs = sqlite3_vfs()
        vfs.iVersion = 1
        vfs.szOsFile = Int32(MemoryLayout<DiskFile>.size)
        vfs.mxPathname = 512
        vfs.zName = name
        vfs.xOpen = { vfs, name, file, flags, outFlags in
            guard let file, let disk = ForgetfulDisk.disk(vfs) else { return SQLITE_CANTOPEN }
            outFlags?.pointee = flags
            return disk.open(name, into: file, flags: flags)
        }
        vfs.xDelete = { vfs, name, _ in
            guard let name, let disk = ForgetfulDisk.disk(vfs) else { return SQLITE_IOERR }
            disk.state.withLock { _ = $0.files.removeValue(forKey: String(cString: name)) }
            return SQLITE_OK
        }
        vfs.xAccess = { vfs, name, _, answer in
            guard let name, let disk = ForgetfulDisk.disk(vfs) else { return SQLITE_IOERR }
            answer?.pointee = disk.state.withLock { $0.files[String(cString: name)] == nil ? 0 : 1 }
            return SQLITE_OK
        }
        vfs.xFullPathname = { _, name, capacity, out in
            guard let name, let out else { return SQLITE_CANTOPEN }
            let text = String(cString: name).utf8CString
            guard text.count <= capacity else { return SQLITE_CANTOPEN }
            text.withUnsafeBufferPointer { out.update(from: $0.baseAddress!, count: $0.count) }
            return SQLITE_OK
        }
        vfs.xRandomness = { _, count, out in
            // Salts of the log: a fixed pattern keeps runs alike.
            for index in 0..<Int(count) { out?[index] = CChar(truncatingIfNeeded: index &* 37 &+ 11) }
            return count
        }
        vfs.xSleep = { _, microseconds in microseconds }
        vfs.xCurrentTime = { _, days in
            days?.pointee = 2_461_000
            return SQLITE_OK
        }
        vfs.xGetLastError = { _, _, _ in 0 }
        return vfs
    }

    fileprivate static func disk(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> ForgetfulDisk? {
        guard let place = vfs?.pointee.pAppData else { return nil }
        return Unmanaged<Place>.fromOpaque(place).takeUnretainedValue().disk
    }

    private func open(
        _ name: UnsafePointer<CChar>?, into file: UnsafeMutablePointer<sqlite3_file>, flags: Int32
    ) -> Int32 {
        let (path, life) = state.withLock { state -> (String, Int) in
            if let name { return (String(cString: name), state.life) }
            state.temporaries += 1
            return ("temporary-\(state.temporaries)", state.life)
        }
        let exists = state.withLock { state in
            if state.files[path] == nil, flags & SQLITE_OPEN_CREATE != 0 || name == nil { state.files[path] = File() }
            return state.files[path] != nil
        }
        return UnsafeMutableRawPointer(file).withMemoryRebound(to: DiskFile.self, capacity: 1) { handle in
            handle.initialize(to: DiskFile())
            guard exists else { return SQLITE_CANTOPEN }
            let open = OpenFile(disk: self, path: path, life: life)
            handle.pointee.open = Unmanaged.passRetained(open).toOpaque()
            handle.pointee.base.pMethods = DiskFile.methods
            return SQLITE_OK
        }
    }
}

/// What SQLite allocates for an open file: its own header first, ours after it.
private struct DiskFile {
    var base = sqlite3_file()
    /// A retained `OpenFile`.
    var open: UnsafeMutableRawPointer?

    /// Written once, never freed: SQLite holds the address as long as a file is open.
    nonisolated(unsafe) static let methods: UnsafePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: make())
        return UnsafePointer(methods)
    }()

    private static func make() -> sqlite3_io_methods {
        var methods = sqlite3_io_methods()
        methods.iVersion = 1
        methods.xClose = { file in
            file?.withOpenFile { Unmanaged.passUnretained($0).release() }
            return SQLITE_OK
        }
        methods.xRead = { file, out, count, offset in
            guard let out else { return SQLITE_IOERR }
            let target = UnsafeMutableRawBufferPointer(start: out, count: Int(count))
            return file?.withOpenFile { $0.read(target, at: Int(offset)) } ?? SQLITE_IOERR
        }
        methods.xWrite = { file, bytes, count, offset in
            let source = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            return file?.withOpenFile { $0.write(Array(source), at: Int(offset)) } ?? SQLITE_IOERR
        }
        methods.xTruncate = { file, size in
            file?.withOpenFile { $0.truncate(to: Int(size)) } ?? SQLITE_IOERR
        }
        methods.xSync = { file, _ in file?.withOpenFile { $0.sync() } ?? SQLITE_IOERR }
        methods.xFileSize = { file, size in
            size?.pointee = file?.withOpenFile { sqlite3_int64($0.size) } ?? 0
            return SQLITE_OK
        }
        methods.xLock = { _, _ in SQLITE_OK }
        methods.xUnlock = { _, _ in SQLITE_OK }
        methods.xCheckReservedLock = { _, answer in
            answer?.pointee = 0
            return SQLITE_OK
        }
        methods.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        methods.xSectorSize = { _ in 512 }
        // As SQLite says of every disk under Linux: a torn write harms nothing beside it. Without that it repeats the last frame of
        // a commit to the end of a sector, and a commit could stand whole though its last write failed.
        methods.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
        return methods
    }
}

extension UnsafeMutablePointer where Pointee == sqlite3_file {
    fileprivate func withOpenFile<Result>(_ body: (OpenFile) -> Result) -> Result? {
        UnsafeMutableRawPointer(self).withMemoryRebound(to: DiskFile.self, capacity: 1) { handle in
            handle.pointee.open.map { body(Unmanaged<OpenFile>.fromOpaque($0).takeUnretainedValue()) }
        }
    }
}

/// One handle on one file of the disk.
private final class OpenFile {
    private let disk: ForgetfulDisk
    private let path: String
    private let life: Int

    init(disk: ForgetfulDisk, path: String, life: Int) {
        self.disk = disk
        self.path = path
        self.life = life
    }

    /// `SQLITE_IOERR_SHORT_READ`, which does not import.
    private static let shortRead = SQLITE_IOERR | (2 << 8)
    /// `SQLITE_IOERR_FSYNC`.
    private static let syncFailed = SQLITE_IOERR | (4 << 8)

    var size: Int { disk.state.withLock { $0.files[path]?.bytes.count ?? 0 } }

    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        disk.state.withLock { state in
            guard state.life == life, let file = state.files[path] else { return SQLITE_IOERR }
            let count = max(0, min(target.count, file.bytes.count - offset))
            state.bytesRead += count
            file.bytes.withUnsafeBytes { target.copyBytes(from: $0.dropFirst(offset).prefix(count)) }
            guard count < target.count else { return SQLITE_OK }
            // SQLite requires the rest to be zeros.
            UnsafeMutableRawBufferPointer(rebasing: target[count...]).initializeMemory(as: UInt8.self, repeating: 0)
            return Self.shortRead
        }
    }

    func write(_ bytes: [UInt8], at offset: Int) -> Int32 {
        disk.state.withLock { state in
            guard state.life == life else { return SQLITE_IOERR }
            if let room = state.room {
                guard room >= bytes.count else { return SQLITE_FULL }
                state.room = room - bytes.count
            }
            state.files[path]?.write(bytes, at: offset)
            return SQLITE_OK
        }
    }

    func truncate(to size: Int) -> Int32 {
        disk.state.withLock { state in
            guard state.life == life else { return SQLITE_IOERR }
            state.files[path]?.truncate(to: size)
            return SQLITE_OK
        }
    }

    func sync() -> Int32 {
        disk.state.withLock { state in
            guard state.life == life else { return SQLITE_IOERR }
            guard state.failingSyncs == 0 else {
                state.failingSyncs -= 1
                return Self.syncFailed
            }
            state.files[path]?.sync()
            state.syncs += 1
            return SQLITE_OK
        }
    }
}
