import MewBase
import MewIdentity
import MewSession
package import MewWire

// Where each message goes, and the operations that belong to no single session.

extension SessionRegistry {
    package func handle(_ frame: ClientFrame, from client: SessionClient) async {
        precondition(SessionMessages.contains(frame.message.kind), "the connection handles this message itself")
        guard isOpen else {
            let failure = SessionFailure.shuttingDown
            return tell(
                client, .error(.init(message: failure.sentence, code: failure.code, operation: frame.operation)),
                frame.ref)
        }
        let revocation = revocations[client.node]
        guard let request = await admit(frame, from: client), await mayAct(client, request, since: revocation) else {
            return
        }
        if let fault = channelFault(of: frame, from: client) {
            return await refuse(request, .wrongChannel, fault, client)
        }
        await route(request, frame, client, since: revocation)
    }

    /// The device may have been revoked while its request waited, and paired again since; what waited in the sessions was dropped
    /// then. To be asked after each wait and before anything is taken.
    ///
    /// - Parameter revocation: the device's last one when the request came.
    private func mayAct(_ client: SessionClient, _ request: ClientRequest, since revocation: UInt64?) async -> Bool {
        guard revoked.contains(client.node) || revocations[client.node] != revocation else { return true }
        await refuse(request, .revoked, "the device was revoked", client)
        return false
    }

    /// Spec/native-wire.md §1: which messages go on which stream.
    private func channelFault(of frame: ClientFrame, from client: SessionClient) -> String? {
        switch (client.role, frame.message.kind.channel) {
        case (.stock, _), (.control, .control): return nil
        case (.control, .opensSession), (.control, .session):
            return "this message belongs on a session channel"
        case (.session, .control):
            return "this message belongs on the control channel"
        case (.session, .opensSession):
            return attachments[client.id] == nil ? nil : "this channel has a session already"
        case (.session, .session):
            guard let runner = attachments[client.id] else { return "this channel has no session" }
            return frame.sessionID == nil || frame.sessionID == runner.id
                ? nil : "this channel is attached to another session"
        }
    }

    private func route(
        _ request: ClientRequest, _ frame: ClientFrame, _ client: SessionClient, since revocation: UInt64?
    ) async {
        switch frame.message {
        case .newSession(let new):
            await makeSession(
                cwd: new.cwd, group: nil, agent: new.agent, kind: new.clientKind, request, client)
        case .newSessionInGroup(let new):
            await makeSession(
                cwd: new.cwd, group: new.groupID, agent: new.agent, kind: new.clientKind, request, client)
        case .attachSession(let attach): await route(attach, request, client)
        case .resumeSession(let resume):
            await attachments[client.id]?.perform(.resume(client.id, after: resume.afterSequence), for: client)
        case .deleteSession(let delete): await deleteSession(delete.sessionID, request, client)
        case .renameSession, .regenerateTitle, .archiveSession, .pinSession, .unflagFile, .loadSessionHistory:
            await toNamedSession(frame.sessionID, request, client, since: revocation)
        case .lease(let lease): await toNamedSession(SessionID(lease.target), request, client, since: revocation)
        case .assignSessionGroup(let assign):
            guard assign.groupID == nil || groups.contains(where: { $0.id == assign.groupID }) else {
                return await refuse(request, .badInput, "session group not found", client)
            }
            await toNamedSession(assign.sessionID, request, client, since: revocation)
            broadcast(.groupsChanged(groupList))
        case .listSessions: sendLists(to: client, ref: frame.ref)
        case .listModels: tell(client, .modelList(modelList), frame.ref)
        case .listAgents: tell(client, .agentList(agentList), frame.ref)
        case .listProjects: tell(client, .projectList(projectList), frame.ref)
        case .createGroup, .updateGroup, .deleteGroup: await changeGroups(frame.message, request, client)
        case .pinProject(let pin): await pinProject(pin, request, client)
        case .setAutoTitle(let title): await setAutoTitle(title.enabled, request, client)
        case .setAutoSummary(let summary):
            _ = await conclude(
                request, client, [.putSetting(Self.autoSummary, summary.enabled ? nil : "off")])
        case .receiptQuery(let query): await answer(query, frame.ref, client)
        case .requestQuery(let query): await answer(query, frame.ref, client)
        default: await toAttachedSession(request, frame, client)
        }
    }

    // MARK: - To a session

    private func route(
        _ attach: ClientMessage.AttachSession, _ request: ClientRequest, _ client: SessionClient
    ) async {
        // Stock: no reply at all to what is the case already (spec/mew-wire.md §3.1.1).
        guard attachments[client.id]?.id != attach.sessionID else { return }
        switch await runner(for: attach.sessionID) {
        case .success(let runner):
            await self.attach(
                client, to: runner, kind: attach.clientKind, after: attach.afterSequence, epoch: attach.epoch)
        case .failure(let failure):
            await refuse(request, failure.code, failure.sentence, client)
        }
    }

    private func toNamedSession(
        _ id: SessionID?, _ request: ClientRequest, _ client: SessionClient, since revocation: UInt64?
    ) async {
        guard let id else { return await refuse(request, .badInput, "session_id is missing", client) }
        switch await runner(for: id) {
        case .success(let runner):
            guard await mayAct(client, request, since: revocation) else { return }
            await runner.perform(.request(request), for: client)
            switch request.message {
            case .renameSession, .archiveSession, .regenerateTitle: refreshPhones()
            default: break
            }
        case .failure(let failure):
            await refuse(request, failure.code, failure.sentence, client)
        }
    }

    private func toAttachedSession(
        _ request: ClientRequest, _ frame: ClientFrame, _ client: SessionClient
    ) async {
        if let runner = attachments[client.id] {
            guard !deleting.contains(runner.id) else {
                return await refuse(request, .unknownSession, "the session is being deleted", client)
            }
            return await runner.perform(.request(weighed(request, for: runner)), for: client)
        }
        switch frame.message {
        case .answer, .yieldControl, .cancel, .guide: break
        case .prompt, .setPermissionMode:
            await refuse(
                request, .unknownSession, "no session — send NewSession or AttachSession first", client)
        default:
            await refuse(request, .unknownSession, "no session", client)
        }
    }

    /// With what else waits of its device, for words that may have to wait.
    private func weighed(_ request: ClientRequest, for runner: SessionRunner) -> ClientRequest {
        switch request.message {
        case .prompt, .guide: request.with(wordBytesElsewhere: waitingBytes(of: request.by.node, outside: runner))
        default: request
        }
    }

    /// Of sessions that nobody uses nothing is in memory.
    private func waitingBytes(of device: NodeID, outside runner: SessionRunner) -> Int {
        slots.values.reduce(0) { sum, slot in
            guard case .loaded(let other) = slot, other !== runner else { return sum }
            return sum + other.assumeIsolated { $0.core.waitingBytes(of: device) }
        }
    }

    // MARK: - Operations

    /// Natively, a message that changes something is done once: nil when it was done before, or may not be.
    private func admit(_ frame: ClientFrame, from client: SessionClient) async -> ClientRequest? {
        guard client.link == .native, frame.message.kind.changesSomething else {
            return request(frame, client, nil, content: [])
        }
        guard let operation = frame.operation else {
            tell(
                client,
                .error(.init(message: "\(frame.message.kind.rawValue) needs an op_id", code: .opIDRequired)),
                frame.ref)
            return nil
        }
        let key = OperationKey(device: client.node, id: operation)
        let content = content(of: frame, from: client)
        do throws(StoreError) {
            switch try await ledger.admit(key, content: content) {
            case .fresh: return request(frame, client, key, content: content)
            case .known(let receipt): await repeated(receipt, frame, client)
            case .refused(let code): tellRefused(operation, code, client)
            }
        } catch {
            // Nobody could look whether it was done before.
            tell(
                client, .error(.init(message: error.description, code: .internal, operation: operation)), frame.ref)
        }
        return nil
    }

    private func request(
        _ frame: ClientFrame, _ client: SessionClient, _ key: OperationKey?, content: [UInt8]
    ) -> ClientRequest {
        let namesSessions = !unnamingDevices.contains(client.node) && !unnamingClients.contains(client.id)
        return ClientRequest(
            frame.message, client: client.id, link: client.link, by: client.by, operation: key, content: content,
            ref: frame.ref, namesSessions: namesSessions)
    }

    /// What makes two operations the same: the message and its session, not how they were named.
    private func content(of frame: ClientFrame, from client: SessionClient) -> [UInt8] {
        let session = frame.sessionID ?? attachments[client.id]?.id
        return SHA256.digest(ClientFrame(frame.message, sessionID: session).encoded(for: .native) ?? [])
    }

    /// The original receipt, and what else the original was answered with.
    private func repeated(
        _ receipt: DaemonMessage.Receipt, _ frame: ClientFrame, _ client: SessionClient
    ) async {
        tell(client, .receipt(receipt), nil)
        switch frame.message {
        case .newSession(let new): await reattach(receipt, new.clientKind, client)
        case .newSessionInGroup(let new): await reattach(receipt, new.clientKind, client)
        case .answer(let answer): await repeatVerdict(answer, receipt, client)
        default: break
        }
    }

    /// A channel that was opened with a repeated `new_session` is for the session that was made then.
    private func reattach(
        _ receipt: DaemonMessage.Receipt, _ kind: ClientKind, _ client: SessionClient
    ) async {
        guard client.role == .session, attachments[client.id] == nil, let id = receipt.sessionID else { return }
        switch await runner(for: id) {
        case .success(let runner): await attach(client, to: runner, kind: kind, after: nil, epoch: nil)
        case .failure(let failure):
            tell(client, .error(.init(message: failure.sentence, code: failure.code)), nil)
        }
    }

    /// The session knows who won. One that is gone leaves the receipt alone.
    private func repeatVerdict(
        _ answer: Answer, _ receipt: DaemonMessage.Receipt, _ client: SessionClient
    ) async {
        guard let id = receipt.sessionID, case .success(let runner) = await runner(for: id) else { return }
        tell(client, .answerVerdict(await runner.verdict(repeated: answer, receipt)), nil)
    }

    private func tellRefused(_ operation: OperationID, _ code: ErrorCode, _ client: SessionClient) {
        let sentence =
            switch code {
            case .opConflict: "this op_id was used for something else"
            case .opSettled: OperationLedger.settledSentence
            case .opExpired: "this op_id is too old to know whether it was done"
            default: "the operation cannot be taken now"
            }
        tell(
            client,
            .receipt(
                .init(
                    operation: operation, state: .refused, isRepeat: code != .busy, code: code, message: sentence,
                    at: environment.wall)), nil)
    }

    /// Stores what an operation changed together with its receipt, and tells the one who asked. False when nothing was saved.
    func conclude(
        _ request: ClientRequest, _ client: SessionClient, _ writes: [StoreWrite], session: SessionID? = nil
    ) async -> Bool {
        let receipt = request.operation.map {
            DaemonMessage.Receipt(
                operation: $0.id, state: .done, isRepeat: false, sessionID: session, at: environment.wall)
        }
        return await store(receipt, of: request, writes, client)
    }

    /// Natively a stored receipt, otherwise an `error`.
    func refuse(
        _ request: ClientRequest, _ code: ErrorCode, _ sentence: String, _ client: SessionClient
    ) async {
        guard let key = request.operation else {
            return tell(client, .error(.init(message: sentence, code: code)), request.ref)
        }
        let receipt = DaemonMessage.Receipt(
            operation: key.id, state: .refused, isRepeat: false, code: code, message: sentence, at: environment.wall)
        _ = await store(receipt, of: request, [], client)
    }

    private func store(
        _ receipt: DaemonMessage.Receipt?, of request: ClientRequest, _ writes: [StoreWrite],
        _ client: SessionClient
    ) async -> Bool {
        var writes = writes
        if let receipt, let key = request.operation {
            writes.append(
                .putReceipt(
                    ReceiptRow(
                        device: key.device, operation: key.id, staysWithSession: nil, at: receipt.at,
                        content: request.content, body: receipt.encoded())))
        }
        do throws(StoreError) {
            try await environment.store.commit(writes)
        } catch {
            if let key = request.operation { ledger.abandon(key) }
            tell(
                client,
                .error(
                    .init(message: error.description, code: ErrorCode(error), operation: request.operation?.id)),
                request.ref)
            return false
        }
        if let receipt, let key = request.operation {
            ledger.record(receipt, for: key)
            tell(client, .receipt(receipt), nil)
        }
        return true
    }

    /// A direct answer to one client.
    func tell(_ client: SessionClient, _ message: DaemonMessage, _ ref: String?) {
        var forms = FrameForms(message, session: nil, ref: ref)
        tell(client, &forms)
    }

    /// The same when several clients get it.
    func tell(_ client: SessionClient, _ forms: inout FrameForms) {
        guard let bytes = forms.bytes(for: client, isAttached: false) else { return }
        _ = client.push(bytes, .reply)
    }
}
