/// How long the texts of a client may be that a daemon keeps, lists or quotes: without a bound one device could make every
/// list longer than a frame, for everybody and for good. In bytes of UTF-8, because one character may hold megabytes of
/// combining marks. Prompts have a bound of their own, in the session.
public enum TextLimits {
    /// Titles and names of groups, models, agents and modes. Two hundred characters of any script.
    public static let nameBytes = 1_024
    /// PATH_MAX: longer paths cannot be opened.
    public static let pathBytes = 4_096
    /// What a person says in an answer or a command. More belongs into a prompt or a file.
    public static let wordsBytes = 64 << 10
    /// Files named in one prompt, and texts in one answer. People name a handful.
    public static let listedTexts = 64
}

extension Fields {
    /// `required` for a text that is refused when it is longer than `maxBytes`.
    mutating func required(_ key: String, _ old: String?, upTo maxBytes: Int) throws(FieldError) -> String {
        try checked(try required(key, old), key, upTo: maxBytes)
    }

    /// `optional` for a text that is refused when it is longer than `maxBytes`.
    mutating func optional(_ key: String, _ old: String?, upTo maxBytes: Int) throws(FieldError) -> String? {
        guard let text = try optional(key, old) else { return nil }
        return try checked(text, key, upTo: maxBytes)
    }

    /// `nullable` for a text that is refused when it is longer than `maxBytes`.
    mutating func nullable(_ key: String, _ old: String?, upTo maxBytes: Int) throws(FieldError) -> String? {
        guard let text = try nullable(key, old) else { return nil }
        return try checked(text, key, upTo: maxBytes)
    }

    /// `native` for a text that is refused when it is longer than `maxBytes`.
    mutating func native(_ key: String, _ old: String?, upTo maxBytes: Int) throws(FieldError) -> String? {
        guard let text = try native(key, old) else { return nil }
        return try checked(text, key, upTo: maxBytes)
    }

    /// What is written is refused by its reader, who has the same bounds.
    private func checked(_ text: String, _ key: String, upTo maxBytes: Int) throws(FieldError) -> String {
        guard isReading, text.utf8.count > maxBytes else { return text }
        throw FieldError("must have at most \(maxBytes) bytes", path: key)
    }

    /// `elements` when there are no more of them than `TextLimits.listedTexts`.
    func listed<Element>(_ elements: [Element], _ key: String) throws(FieldError) -> [Element] {
        guard isReading, elements.count > TextLimits.listedTexts else { return elements }
        throw FieldError("must have at most \(TextLimits.listedTexts) entries", path: key)
    }
}
