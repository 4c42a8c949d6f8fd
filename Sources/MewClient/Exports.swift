// An app imports MewClient alone: the identifiers, messages and transcripts that its API speaks of come with it. Swift has no other
// way yet to say so.

@_exported public import MewBase
@_exported public import MewIdentity
@_exported public import MewSession
@_exported public import MewWire
