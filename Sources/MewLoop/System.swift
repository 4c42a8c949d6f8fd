internal import CSys
internal import MewBase

/// The kernel's random generator.
package struct SystemEntropy: Entropy {
    package init() {}

    package func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let start = buffer.baseAddress else { return }
        let error = csys_random(start, buffer.count)
        // Keys made from anything less would be worse than no node at all.
        precondition(error == 0, "the system's random generator failed with error \(error)")
    }
}

/// The machine's clock on the wall.
package struct SystemWallClock: WallClock {
    package init() {}
    package var millisecondsSinceEpoch: UInt64 { csys_wall_milliseconds() }
}

/// Makes what is printed reach a pipe line by line.
package func makeStandardOutputLineBuffered() {
    csys_stdout_line_buffered()
}
