internal import CSodium

/// Starts libsodium once; every use of it in this module comes after `start`.
enum Sodium {
    // A lazy static is initialised exactly once, whatever thread comes first.
    private static let isReady: Bool = sodium_init() >= 0

    static func start() {
        precondition(isReady, "libsodium finds no source of randomness on this machine")
    }
}
