import Testing

@testable import mew

@Suite("Where the state directory is")
struct StateDirectoryPathTests {
    @Test("the option wins, then MEW_HOME, then XDG_DATA_HOME, then HOME")
    func order() throws {
        var environment = ["MEW_HOME": "/m", "XDG_DATA_HOME": "/x", "HOME": "/h"]
        #expect(try stateDirectoryPath(option: "/o", environment: environment, directory: "/d") == "/o")
        #expect(try stateDirectoryPath(option: nil, environment: environment, directory: "/d") == "/m")
        #expect(try stateDirectoryPath(option: "o", environment: environment, directory: "/d") == "/d/o")
        environment["MEW_HOME"] = ""
        #expect(try stateDirectoryPath(option: nil, environment: environment, directory: "/d") == "/x/mew")
        environment["XDG_DATA_HOME"] = "relative"
        #expect(try stateDirectoryPath(option: nil, environment: environment, directory: "/d") == "/h/.local/share/mew")
    }

    @Test("without any of them the failure says what to give")
    func none() {
        #expect(throws: CommandFailure.self) { try stateDirectoryPath(option: nil, environment: [:], directory: "/d") }
    }
}
