import MewWire

/// Turns what a person types into the answer to one request.
struct AnswerReader {
    enum Step: Equatable {
        case answer(Answer.Content)
        /// The next question of several.
        case more
        /// Not an answer; what to say.
        case again(String)
    }

    private let content: Request.Content
    private var answers: [String] = []

    init(_ content: Request.Content) {
        self.content = content
    }

    mutating func read(_ line: String) -> Step {
        let text = line.trimmed
        switch content {
        case .permission, .subagentPermission, .workspacePermission:
            return Self.decision(text).map { .answer(.permission($0)) } ?? .again("Type once, session or deny.")
        case .goal:
            return Self.yesOrNo(text).map { .answer(.goal(accepted: $0)) } ?? .again("Type yes or no.")
        case .planApproval:
            return plan(text)
        case .askUser(let questions):
            return answer(text, questions)
        }
    }

    /// A decision as people type it, from its word on the wire.
    static func word(_ decision: String) -> String {
        switch PermissionDecision(rawValue: decision) {
        case .allowOnce: "once"
        case .allowSession: "session"
        default: decision
        }
    }

    static func decision(_ text: String) -> PermissionDecision? {
        switch text.lowercased() {
        case "o", "once", "allow_once", "y", "yes": .allowOnce
        case "s", "session", "allow_session": .allowSession
        case "d", "deny", "n", "no": .deny
        default: nil
        }
    }

    private static func yesOrNo(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "y", "yes": true
        case "n", "no": false
        default: nil
        }
    }

    /// `n because …` is a refusal with its reason.
    private func plan(_ text: String) -> Step {
        let words = text.split(separator: " ", maxSplits: 1)
        guard let first = words.first, let approved = Self.yesOrNo(String(first)) else {
            return .again("Type yes, or no and a reason.")
        }
        let feedback = words.count == 2 ? String(words[1]) : nil
        return .answer(.plan(approved: approved, feedback: approved ? nil : feedback))
    }

    private mutating func answer(_ text: String, _ questions: [Question]) -> Step {
        guard !text.isEmpty else { return .again("Type a number or a text.") }
        let options = questions[min(answers.count, questions.count - 1)].options
        if let number = Int(text), options.indices.contains(number - 1) {
            answers.append(options[number - 1].label)
        } else {
            answers.append(text)
        }
        return answers.count >= questions.count ? .answer(.questions(answers)) : .more
    }
}

extension String {
    var trimmed: String {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest = rest.dropFirst() }
        while rest.last?.isWhitespace == true { rest = rest.dropLast() }
        return String(rest)
    }
}
