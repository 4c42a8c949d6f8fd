internal import CSys
internal import MewBase

/// The machine's clock on the wall.
package struct SystemWallClock: WallClock {
    package init() {}
    package var millisecondsSinceEpoch: UInt64 { csys_wall_milliseconds() }
}

/// Makes what is printed reach a pipe line by line.
package func makeStandardOutputLineBuffered() {
    csys_stdout_line_buffered()
}
