package import MewBase
package import MewSim

/// Tells what happens in a world, each line with its time; or nothing.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class WorldLog: DiagnosticSink, @unchecked Sendable {
    private let take: (@Sendable (String) -> Void)?
    private weak var world: SimWorld?
    /// How often the daemon told a device that it is too slow.
    private(set) var gaps = 0

    package init(_ world: SimWorld, _ take: (@Sendable (String) -> Void)?) {
        (self.world, self.take) = (world, take)
    }

    package var isHeard: Bool { take != nil }

    package func note(_ line: @autoclosure () -> String) {
        guard let take, let world else { return }
        take("\(Int(SimWorld.start.duration(to: world.now).milliseconds)) ms \(line())")
    }

    package func wants(_ level: Diagnostic.Level) -> Bool { isHeard }

    package func record(_ diagnostic: Diagnostic) {
        if diagnostic.name == "gap" { gaps += 1 }
        note("\(diagnostic.name): \(diagnostic.message)")
    }
}
