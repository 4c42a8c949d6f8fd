import MewWire

extension Message {
    /// The end of a message that is too large to be sent whole: its last parts, the first of them cut at its beginning.
    ///
    /// Each part is encoded once: a message may have thousands.
    func end(within maxBytes: Int) -> Message {
        guard let last = parts.last else { return self }
        var rest = self
        rest.parts = [last]
        var bytes = rest.encoded().count
        guard bytes <= maxBytes else {
            rest.parts = [last.end(cutting: bytes - maxBytes)]
            return rest
        }
        var first = parts.count - 1
        while first > 0 {
            // And the comma.
            bytes += parts[first - 1].encoded().count + 1
            guard bytes <= maxBytes else { break }
            first -= 1
        }
        rest.parts = Array(parts[first...])
        return rest
    }
}

extension Part {
    /// The end of a part that is too large to be sent whole.
    func end(within maxBytes: Int) -> Part {
        let excess = encoded().count - maxBytes
        return excess > 0 ? end(cutting: excess) : self
    }

    /// The part with at least `excess` encoded bytes less, as far as its texts allow. What stands before the cut becomes `…`.
    fileprivate func end(cutting excess: Int) -> Part {
        var part = self
        switch content {
        case .text(var text):
            text.text = text.text.end(cutting: excess)
            part.content = .text(text)
        case .reasoning(var reasoning):
            reasoning.text = reasoning.text.end(cutting: excess)
            part.content = .reasoning(reasoning)
        case .toolCall(var call):
            call.state = call.state.end(cutting: excess)
            part.content = .toolCall(call)
        case .file, .toolResult, .compaction:
            break
        }
        return part
    }
}

extension ToolState {
    fileprivate func end(cutting excess: Int) -> ToolState {
        var state = self
        switch phase {
        case .running(let output):
            state.phase = .running(output: output.end(cutting: excess))
        case .completed(var completed):
            // Pictures and diffs first: the output tells how it ended.
            completed.images = []
            completed.diff = nil
            completed.metadata = nil
            let saved = encodedSize - ToolState(input: input, phase: .completed(completed), time: time).encodedSize
            completed.output = completed.output.end(cutting: max(0, excess - saved))
            state.phase = .completed(completed)
        case .error(let text):
            state.phase = .error(text.end(cutting: excess))
        case .pending:
            break
        }
        return state
    }

    private var encodedSize: Int { encoded().count }
}

extension String {
    /// The end of the text, whole characters, so that its encoding has at least `excess` bytes less.
    func end(cutting excess: Int) -> String {
        guard excess > 0 else { return self }
        var saved = -"…".utf8.count
        var index = startIndex
        while index < endIndex, saved < excess {
            // An escaped character is longer on the wire than here: counting it as one byte cuts a little too much, never too little.
            saved += self[index].utf8.count
            index = self.index(after: index)
        }
        return "…" + self[index...]
    }
}
