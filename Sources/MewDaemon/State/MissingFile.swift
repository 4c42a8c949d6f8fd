import MewBase
import MewLoop
import MewNode

/// A file that a daemon which ran here before has left, and that is gone or empty now. Made anew without a word, it would look as if
/// nothing had ever been: devices, sessions and prompts would be missing, and nobody would know why.
enum MissingFile: Hashable, CaseIterable {
    case key
    case database

    /// To be asked before anything is made.
    static func all(in directory: StateDirectory) -> [MissingFile] {
        let files = directory.files
        let hasKey = files.holds(StateDirectory.Name.key)
        let hasDatabase = files.holds(StateDirectory.Name.database)
        // Clients have a key, too, and no port.
        let ranBefore = [StateDirectory.Name.port, StateDirectory.Name.reach].contains { files.holds($0) }
        return allCases.filter { file in
            switch file {
            case .key: !hasKey && (hasDatabase || ranBefore)
            case .database: !hasDatabase && ranBefore
            }
        }
    }

    private var name: String {
        switch self {
        case .key: StateDirectory.Name.key
        case .database: StateDirectory.Name.database
        }
    }

    /// What it means, and how to go on.
    func warning(in directory: StateDirectory) -> String {
        let start = "\(directory.path(name)) is missing or empty, though a daemon has run here before: "
        let rest = " If you have a copy, stop this daemon and put it back. If not, pair your devices again (mew pair)."
        return switch self {
        case .key: start + "a new key was made, so that this daemon has another node ID and no device finds it." + rest
        case .database: start + "its sessions and its paired devices are not known any more." + rest
        }
    }

    func diagnostic(in directory: StateDirectory) -> Diagnostic {
        Diagnostic(.error, "daemon", "file_missing", warning(in: directory), ["file": .text(directory.path(name))])
    }
}
