#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@main
struct Mew {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        let code = await CommandLineProgram(commands: CommandList.all, environment: environment()).run(words)
        exit(code.rawValue)
    }

    private static func environment() -> [String: String] {
        var result: [String: String] = [:]
        for name in ["HOME", "MEW_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "NO_COLOR", "TERM"] {
            if let value = getenv(name) { result[name] = String(cString: value) }
        }
        return result
    }
}
