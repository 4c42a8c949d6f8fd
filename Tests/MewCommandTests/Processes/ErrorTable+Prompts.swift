import MewWire

extension ErrorTable {
    static let prompts = Chapter(
        title: "Prompts",
        cases: [
            .init("a prompt of blanks", .badInput, "TEXT must not be empty. Say what the agent is to do."),
            .init(
                "a prompt from standard input, which is empty", .badInput,
                "standard input is empty, and the prompt was to come from there. Give it some text."),
            .init(
                "a prompt from standard input, which is no text", .badInput,
                "standard input holds something else than UTF-8 text. A prompt is text."),
            .init(
                "a prompt from standard input, which is too long", .badInput,
                "a prompt has at most {count} bytes, and standard input holds more. Put the rest into a file on the daemon's "
                    + "machine."),
            .init(
                "a prompt from standard input, which cannot be read", .badInput,
                "could not read the prompt: {problem}. Check standard input."),
            .init(
                "a prompt while another device is typing in the session", .leaseHeld,
                "could not run the prompt: {device} is typing. Wait until they stop, or take over with 'mew prompt "
                    + "--take-over'."),
        ])
}
