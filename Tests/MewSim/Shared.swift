/// A variable that the tasks of one world share.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class Shared<Value>: @unchecked Sendable {
    package var value: Value

    package init(_ value: Value) {
        self.value = value
    }
}
