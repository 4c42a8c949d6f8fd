// Records about files, questions and to-do lists (spec/mew-wire.md §3.3.2).

/// A file that a prompt refers to.
public struct Attachment: Record, Sendable, Equatable {
    /// On the daemon's machine.
    public var path: String
    public var mime: String?

    public init(path: String, mime: String? = nil) {
        (self.path, self.mime) = (path, mime)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        path = try f.required("path", old?.path, upTo: TextLimits.pathBytes)
        mime = try f.optional("mime", old?.mime, upTo: TextLimits.nameBytes)
    }
}

/// One question of an agent. Free text is always allowed as an answer.
public struct Question: Record, Sendable, Equatable {
    public var prompt: String
    public var options: [QuestionOption]

    public init(prompt: String, options: [QuestionOption]) {
        (self.prompt, self.options) = (prompt, options)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        prompt = try f.required("prompt", old?.prompt)
        options = try f.required("options", old?.options)
    }
}

/// A prepared answer.
public struct QuestionOption: Record, Sendable, Equatable {
    public var label: String
    public var description: String

    public init(label: String, description: String = "") {
        (self.label, self.description) = (label, description)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        label = try f.required("label", old?.label)
        description = try f.required("description", old?.description)
    }
}

/// One entry of an agent's plan.
public struct Todo: Record, Sendable, Equatable {
    public var id: UInt32
    public var content: String
    /// `pending`, `in_progress`, `done`, `blocked`; shown as it is when it is something else.
    public var status: String
    public var dependsOn: [UInt32]

    public init(id: UInt32, content: String, status: String, dependsOn: [UInt32] = []) {
        (self.id, self.content, self.status, self.dependsOn) = (id, content, status, dependsOn)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        id = try f.required("id", old?.id)
        content = try f.required("content", old?.content)
        status = try f.required("status", old?.status)
        dependsOn = try f.required("depends_on", old?.dependsOn)
    }
}

/// One name in a directory.
public struct DirEntry: Record, Sendable, Equatable {
    public var name: String
    public var isDirectory: Bool
    /// Bytes; files only.
    public var size: UInt64?

    public init(name: String, isDirectory: Bool, size: UInt64? = nil) {
        (self.name, self.isDirectory, self.size) = (name, isDirectory, size)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        name = try f.required("name", old?.name)
        isDirectory = try f.required("is_dir", old?.isDirectory)
        size = try f.optional("size", old?.size)
    }
}

/// One changed path.
public struct GitEntry: Record, Sendable, Equatable {
    public var path: String
    public var status: GitFileStatus

    public init(path: String, status: GitFileStatus) {
        (self.path, self.status) = (path, status)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        path = try f.required("path", old?.path)
        status = try f.required("status", old?.status)
    }
}

/// A file that an agent marked as relevant.
public struct FlaggedFile: Record, Sendable, Equatable {
    public var path: String
    /// `included` or `referenced`.
    public var reason: String?

    public init(path: String, reason: String? = nil) {
        (self.path, self.reason) = (path, reason)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        path = try f.required("path", old?.path)
        reason = try f.optional("reason", old?.reason)
    }
}
