public import MewBase

// What filled the context of a turn, for inspectors (spec/mew-wire.md §3.3.5).

/// The context of one request to a model.
public struct TurnManifest: Record, Sendable, Equatable {
    public var model: String
    public var contextWindow: UInt32
    public var inputTokens: UInt32?
    public var outputTokens: UInt32?
    public var cacheReadTokens: UInt32?
    public var cacheWriteTokens: UInt32?
    public var reasoningTokens: UInt32?
    public var segments: [Segment]

    public init(
        model: String, contextWindow: UInt32, inputTokens: UInt32? = nil, outputTokens: UInt32? = nil,
        cacheReadTokens: UInt32? = nil, cacheWriteTokens: UInt32? = nil, reasoningTokens: UInt32? = nil,
        segments: [Segment]
    ) {
        (self.model, self.contextWindow, self.inputTokens) = (model, contextWindow, inputTokens)
        (self.outputTokens, self.cacheReadTokens) = (outputTokens, cacheReadTokens)
        (self.cacheWriteTokens, self.reasoningTokens, self.segments) = (cacheWriteTokens, reasoningTokens, segments)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        model = try f.required("model", old?.model)
        contextWindow = try f.required("context_window", old?.contextWindow)
        inputTokens = try f.optional("input_tokens", old?.inputTokens)
        outputTokens = try f.optional("output_tokens", old?.outputTokens)
        cacheReadTokens = try f.optional("cache_read_tokens", old?.cacheReadTokens)
        cacheWriteTokens = try f.optional("cache_write_tokens", old?.cacheWriteTokens)
        reasoningTokens = try f.optional("reasoning_tokens", old?.reasoningTokens)
        segments = try f.required("segments", old?.segments)
    }
}

/// A stretch of the context; segments nest as deep as JSON may.
public struct Segment: Record, Sendable, Equatable {
    public var label: String
    public var kind: SegmentKind
    public var sourceID: ULID?
    public var tokens: UInt32
    public var tokensScaled: UInt32
    public var children: [Segment]

    public init(
        label: String, kind: SegmentKind, sourceID: ULID? = nil, tokens: UInt32, tokensScaled: UInt32,
        children: [Segment] = []
    ) {
        (self.label, self.kind, self.sourceID, self.tokens) = (label, kind, sourceID, tokens)
        (self.tokensScaled, self.children) = (tokensScaled, children)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        label = try f.required("label", old?.label)
        kind = try f.required("kind", old?.kind)
        sourceID = try f.optional("source_id", old?.sourceID)
        tokens = try f.required("tokens", old?.tokens)
        tokensScaled = try f.required("tokens_scaled", old?.tokensScaled)
        children = try f.defaulted("children", old?.children, [])
    }
}
