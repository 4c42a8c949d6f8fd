import MewWire

/// Feeds the JSON parser. What it accepts must be written again and read as the same value.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard let value = try? JSON(parsing: Array(UnsafeBufferPointer(start: bytes, count: count))) else { return 0 }
    let text = value.utf8
    guard let again = try? JSON(parsing: text) else { fatalError("not JSON any more: \(text)") }
    precondition(again == value && again.utf8 == text, "another value: \(text)")
    return 0
}
