internal import Synchronization

extension ForgetfulDisk {
    /// The process that had files open is gone: its handles are dead, and the kernel keeps what it wrote, synced or not.
    package func endProcess() {
        state.withLock { $0.life += 1 }
    }
}
