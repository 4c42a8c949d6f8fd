internal import MewBase
public import MewWire

// How a session comes into memory: made new, or read from the store.

/// Why a stored session cannot be used.
public enum SessionLoadError: Error, Sendable, Equatable {
    /// Its own row cannot be read; journal and messages may be whole.
    case unreadableRecord(String)
}

extension SessionCore {
    /// A new session. `created` must be part of the same commit as the operation that asked for it.
    public init(creating id: SessionID, _ record: SessionRecord, offer: AgentOffer) {
        self.id = id
        self.record = record
        self.offer = offer
        desk = RequestDesk()
        journal = Journal(epoch: record.epoch)
        transcript = Transcript(session: id.ulid ?? ULID(high: 0, low: 0), model: record.model)
        (work, guidance, lostEvents) = ([], [], 0)
    }

    /// The write that makes a new session exist.
    public var created: StoreWrite { .putSession(row) }

    /// A session as it was stored.
    ///
    /// - Parameters:
    ///   - older: the messages before those in `stored` that are needed; see `missingMessages(in:)`.
    ///   - younger: the events after `record.transcriptUpTo`, oldest first, where `stored.events` does not reach that far back;
    ///     see `missingEvents(in:)`.
    ///   - receipts: those of the session, where `needsReceipts(for:)` asks for them.
    public init(
        loading stored: StoredSession, older: [MessageRow] = [], younger: [EventRow] = [], receipts: [ReceiptRow] = [],
        offer: AgentOffer, at moment: Moment
    ) throws(SessionLoadError) {
        id = stored.row.id
        self.offer = offer
        record = try Self.readRecord(stored.row)
        // Formerly these were kept as large as they came.
        (record.todos, record.flaggedFiles) = (
            FirstScreen.kept(record.todos), FirstScreen.kept(record.flaggedFiles)
        )
        desk = RequestDesk(
            open: stored.requests.filter(\.isOpen).compactMap { Self.decode($0.body) },
            settled: stored.requests.filter { !$0.isOpen }.compactMap { Self.settled($0.body) })
        if stored.isSuspect { record.epoch = Epoch(moment.newID()) }
        journal = Journal(
            epoch: record.epoch, head: stored.headSequence, tail: stored.isSuspect ? [] : stored.events)
        lostEvents = stored.lostEvents
        if stored.lostEvents > 0 {
            let intact = stored.events.first?.sequence ?? stored.headSequence.next
            damagedUpTo = SequenceNumber(intact.rawValue - 1)
        }
        transcript = Transcript(
            session: stored.row.id.ulid ?? ULID(high: 0, low: 0), rows: older + stored.messages,
            count: stored.messageCount, streamingPart: record.streamingPart, model: record.model)
        transcript.goOn(with: record.turn?.id)
        let all = stored.work.compactMap { row in
            Self.readWork(row).map { Waiting(number: row.number, work: $0) }
        }
        lostWork = stored.lostWork + stored.work.filter { Self.readWork($0) == nil }.map(\.number)
        work = all.filter { $0.work.task.guidance == nil }
        guidance = all.filter { $0.work.task.guidance != nil }
        orphans = lostPrompts(among: receipts)
        replay(younger.isEmpty ? stored.events : younger)
        mustSave = stored.isSuspect
        isUnsettled = record.turn != nil
    }

    /// From which event on `younger` is needed; nil when the loaded events reach back far enough.
    public static func missingEvents(in stored: StoredSession) throws(SessionLoadError) -> SequenceNumber? {
        let upTo = try readRecord(stored.row).transcriptUpTo
        guard upTo < stored.headSequence else { return nil }
        // An event can be larger than all that is loaded of a journal.
        if let first = stored.events.first?.sequence, first <= upTo.next { return nil }
        return upTo
    }

    /// Positions of messages that are needed before the loaded ones, because the turn that ran was still writing them; nil when
    /// there are none.
    public static func missingMessages(in stored: StoredSession) throws(SessionLoadError) -> Range<UInt64>? {
        guard let first = try readRecord(stored.row).unfinishedFrom, let loaded = stored.messages.first?.position,
            first < loaded
        else { return nil }
        return first..<loaded
    }

    /// What the messages do not contain yet is applied to them again.
    private mutating func replay(_ events: [EventRow]) {
        for event in events where event.sequence > record.transcriptUpTo {
            guard case .decoded(let frame) = DaemonFrame.decode(event.body, from: .native) else { continue }
            transcript.apply(
                frame.message, sequence: event.sequence, at: record.lastMessageAt ?? record.createdAt)
            mustWriteMessages = true
        }
    }

    private static func readRecord(_ row: SessionRow) throws(SessionLoadError) -> SessionRecord {
        let json: JSON
        do throws(JSONError) {
            json = try JSON(parsing: row.body)
        } catch {
            throw .unreadableRecord("\(error)")
        }
        do throws(FieldError) {
            return try SessionRecord.decode(json)
        } catch {
            throw .unreadableRecord("\(error)")
        }
    }

    /// Formerly settled requests were kept whole.
    private static func settled(_ body: [UInt8]) -> SettledRequest? {
        decode(body) ?? decode(body).flatMap { SettledRequest($0) }
    }

    /// Nil for a record that cannot be read: it is left out, as one that the disk lost.
    static func decode<Value: WireValue>(_ body: [UInt8]) -> Value? {
        guard let json = try? JSON(parsing: body) else { return nil }
        return try? Value.decode(json)
    }
}
