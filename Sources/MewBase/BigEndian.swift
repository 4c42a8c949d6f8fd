extension FixedWidthInteger {
    /// The most significant byte first, as protocols write numbers.
    package var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
