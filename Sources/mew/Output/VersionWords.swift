import MewClient

extension DaemonView.Versions {
    /// What one of the two programs can do, the other may not know.
    func words(_ daemon: String) -> String { "\(daemon) runs mew \(theirs); this is mew \(ours)" }
}
