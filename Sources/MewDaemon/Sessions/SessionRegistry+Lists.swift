import MewBase
import MewHost
import MewIdentity
import MewLoop
import MewSession
import MewWire

// Lists, groups, projects, settings and questions about operations.

extension SessionRegistry {
    static let autoSummary: SettingName = "sessions.auto_summary_off"
    static let pinnedPrefix: SettingName = "project.pinned:"

    // MARK: - Lists

    /// More lines fit neither a screen nor a frame. A line is 500 bytes long when it names no files.
    private static let maxListed = 4_096
    private static let maxListBytes = 2 << 20
    /// Half of what a peer parses.
    private static let maxListValues = JSON.Limits.wire.maxValues / 2

    /// - Parameter isNative: stock clients do not see sessions in which nothing was said (spec/mew-wire.md §4.11).
    private func sessionList(isNative: Bool) -> DaemonMessage.SessionList {
        let known = Set(groups.map(\.id))
        let lines = listings.values
            .filter { isNative || $0.firstMessage != nil }
            .sorted {
                ($0.lastMessageAt ?? $0.createdAt, $0.sessionID.text) > (
                    $1.lastMessageAt ?? $1.createdAt, $1.sessionID.text
                )
            }
            .prefix(Self.maxListed)
            .map { line in
                var line = line
                if let group = line.groupID, !known.contains(group) { line.groupID = nil }
                return line
            }
        return DaemonMessage.SessionList(sessions: Self.fitting(lines) { 32 + ($0.changeStats?.files.count ?? 0) })
    }

    /// As many elements from the front as may stand in one frame; the last ones are the least wanted.
    private static func fitting<Line: WireValue>(_ lines: [Line], values: (Line) -> Int) -> [Line] {
        var (bytesLeft, valuesLeft) = (maxListBytes, maxListValues)
        return Array(
            lines.prefix { line in
                bytesLeft -= line.encoded().count
                valuesLeft -= values(line)
                return bytesLeft >= 0 && valuesLeft >= 0
            })
    }

    var groupList: DaemonMessage.GroupList {
        DaemonMessage.GroupList(
            groups: groups.map { GroupInfo(id: $0.id, name: $0.name, color: $0.color, order: $0.order) })
    }

    var modelList: DaemonMessage.ModelList {
        DaemonMessage.ModelList(
            models: environment.agents.flatMap(\.models)
                .sorted { ($0.provider, $0.model) < ($1.provider, $1.model) })
    }

    var agentList: DaemonMessage.AgentList {
        DaemonMessage.AgentList(agents: environment.agents.map(\.name), standard: environment.agents.first?.name)
    }

    func sendLists(to client: SessionClient, ref: String? = nil) {
        client.resumeStream()
        tell(client, .sessionList(sessionList(isNative: client.link == .native)), ref)
        tell(client, .groupList(groupList), ref)
    }

    /// The set of sessions is another one, and no message tells which is gone.
    func broadcastLists() {
        var native = FrameForms(.sessionList(sessionList(isNative: true)), session: nil)
        var stock = FrameForms(.sessionList(sessionList(isNative: false)), session: nil)
        for client in directory.everyone {
            if client.link == .native { tell(client, &native) } else { tell(client, &stock) }
        }
    }

    /// The phone does not ask again after a change (spec/mew-wire.md §5.8).
    func refreshPhones() {
        let phones = directory.everyone.filter { $0.role == .stock && $0.kind == .mobile }
        guard !phones.isEmpty else { return }
        var list = FrameForms(.sessionList(sessionList(isNative: false)), session: nil)
        for phone in phones { tell(phone, &list) }
    }

    // MARK: - Projects

    var projectList: DaemonMessage.ProjectList {
        let uses = listings.values.compactMap { line in
            line.workspacePath.map { ProjectUse(path: $0, lastUsed: line.lastMessageAt ?? line.createdAt) }
        }
        var projects = ProjectInfo.all(in: uses)
        for index in projects.indices { projects[index].pinned = pinnedProjects.contains(projects[index].path) }
        return DaemonMessage.ProjectList(projects: Self.fitting(projects) { _ in 8 })
    }

    func pinProject(
        _ pin: ClientMessage.PinProject, _ request: ClientRequest, _ client: SessionClient
    ) async {
        guard listings.values.contains(where: { $0.workspacePath == pin.path }) else {
            return await refuse(request, .badInput, "unknown workspace: \(pin.path)", client)
        }
        let name = SettingName(Self.pinnedPrefix.text + pin.path)
        guard await conclude(request, client, [.putSetting(name, pin.pinned ? "1" : nil)]) else { return }
        if pin.pinned { pinnedProjects.insert(pin.path) } else { pinnedProjects.remove(pin.path) }
        // Marked R or A by its own type only; after pinning it is for everyone.
        broadcast(.projectList(projectList))
    }

    // MARK: - Groups

    private static let maxGroups = 256
    private static let maxGroupNameCharacters = 100

    func changeGroups(_ message: ClientMessage, _ request: ClientRequest, _ client: SessionClient) async {
        await groupChanges.pass {
            switch message {
            case .createGroup(let new): await createGroup(new, request, client)
            case .updateGroup(let new): await updateGroup(new, request, client)
            case .deleteGroup(let old): await deleteGroup(old.groupID, request, client)
            default: break
            }
        }
    }

    private func createGroup(
        _ new: ClientMessage.CreateGroup, _ request: ClientRequest, _ client: SessionClient
    ) async {
        guard groups.count < Self.maxGroups, isGroupName(new.name) else {
            return await refuse(
                request, .badInput,
                "failed to create group: a name has 1 to \(Self.maxGroupNameCharacters) characters, and there are at "
                    + "most \(Self.maxGroups) groups", client)
        }
        let row = GroupRow(
            id: GroupID(environment.ids.next(milliseconds: environment.wallClock.millisecondsSinceEpoch)),
            name: new.name, color: new.color, order: (groups.map(\.order).max() ?? 0) &+ (groups.isEmpty ? 0 : 1))
        guard await conclude(request, client, [.putGroup(row)]) else { return }
        groups.append(row)
        broadcast(.groupsChanged(groupList))
    }

    private func isGroupName(_ name: String) -> Bool {
        (1...Self.maxGroupNameCharacters).contains(name.count)
    }

    private func updateGroup(
        _ new: ClientMessage.UpdateGroup, _ request: ClientRequest, _ client: SessionClient
    ) async {
        guard let old = groups.first(where: { $0.id == new.groupID }), new.name.map(isGroupName) ?? true else {
            return await refuse(request, .badInput, "session group not found", client)
        }
        let row = GroupRow(
            id: old.id, name: new.name ?? old.name, color: new.color ?? old.color, order: new.order ?? old.order)
        guard await conclude(request, client, [.putGroup(row)]) else { return }
        groups = groups.map { $0.id == row.id ? row : $0 }.sorted { $0.order < $1.order }
        broadcast(.groupsChanged(groupList))
    }

    private func deleteGroup(_ id: GroupID, _ request: ClientRequest, _ client: SessionClient) async {
        guard groups.contains(where: { $0.id == id }) else {
            return await refuse(request, .badInput, "session group not found", client)
        }
        guard await conclude(request, client, [.deleteGroup(id)]) else { return }
        groups.removeAll { $0.id == id }
        broadcast(.groupsChanged(groupList))
        for line in listings.values.sorted(by: { $0.sessionID.text < $1.sessionID.text }) where line.groupID == id {
            guard case .success(let runner) = await runner(for: line.sessionID) else { continue }
            let leave = ClientRequest(
                .assignSessionGroup(.init(sessionID: line.sessionID)), client: client.id, link: .stock, by: client.by,
                operation: nil)
            await runner.perform(.request(leave))
        }
    }

    // MARK: - Titles

    func setAutoTitle(_ isOn: Bool, _ request: ClientRequest, _ client: SessionClient) async {
        guard await conclude(request, client, []) else { return }
        switch (client.role, isOn) {
        case (.stock, true): unnamingClients.remove(client.id)
        case (.stock, false): unnamingClients.insert(client.id)
        case (_, true): unnamingDevices.remove(client.node)
        case (_, false): unnamingDevices.insert(client.node)
        }
    }

    // MARK: - Questions about operations

    /// In a task of its own, because an operation that is under way may be so for as long as the disk is full. One query of a
    /// channel at a time: the next one waits, and whoever sends it.
    func answer(_ query: ClientMessage.ReceiptQuery, _ ref: String?, _ client: SessionClient) async {
        await queries[client.id]?.value
        guard !client.isEnded else { return }
        queries[client.id] = environment.loop.spawn { [self] in await answerAll(query, ref, client) }
    }

    private func answerAll(_ query: ClientMessage.ReceiptQuery, _ ref: String?, _ client: SessionClient) async {
        for operation in query.operations.prefix(ClientMessage.ReceiptQuery.maxOperations) {
            await answer(operation, settle: query.settle, ref, client)
        }
        queries[client.id] = nil
    }

    private func answer(_ operation: OperationID, settle: Bool, _ ref: String?, _ client: SessionClient) async {
        let key = OperationKey(device: client.node, id: operation)
        do throws(StoreError) {
            let receipt =
                settle
                ? try await ledger.settle(key, at: environment.wall) : try await ledger.find(key, at: environment.wall)
            if let receipt { tell(client, .receipt(receipt), ref) }
        } catch {
            // About the question. The operation is not named: it may have been done, or still come.
            tell(client, .error(.init(message: error.description, code: ErrorCode(error))), ref)
        }
    }
}
