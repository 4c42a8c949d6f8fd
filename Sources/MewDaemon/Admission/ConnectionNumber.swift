/// Names one connection of this daemon, from its first packet to its last; counted from 1 and never reused.
package struct ConnectionNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let value: UInt64

    package init(_ value: UInt64) {
        self.value = value
    }

    package static func < (left: ConnectionNumber, right: ConnectionNumber) -> Bool { left.value < right.value }

    package var description: String { "#\(value)" }
}
