import MewSession
import MewWire
import Testing

@testable import mew

@Suite("A prompt from standard input")
struct PromptTextTests {
    private func refusal(_ bytes: [UInt8]?) -> CommandFailure? {
        #expect(throws: CommandFailure.self) { try PromptText.read(bytes) }
    }

    @Test("the line feeds at its end are not part of it; all others are")
    func text() throws {
        #expect(try PromptText.read(Array("ls\n".utf8)) == "ls")
        #expect(try PromptText.read(Array("\none\n\ntwo\r\n\n".utf8)) == "\none\n\ntwo")
        #expect(try PromptText.read(Array("é".utf8)) == "é")
    }

    @Test("too much, nothing, blanks alone and what is no UTF-8 are told apart")
    func refusals() {
        #expect(refusal(nil)?.message.contains("\(SessionCore.maxPromptBytes) bytes") == true)
        #expect(refusal([])?.message.contains("is empty") == true)
        #expect(refusal(Array(" \n\n".utf8))?.message.contains("is empty") == true)
        #expect(refusal([0x6c, 0x73, 0xff])?.message.contains("UTF-8") == true)
        for bytes: [UInt8]? in [nil, [], [0xff]] { #expect(refusal(bytes)?.exit == .usage) }
    }
}
