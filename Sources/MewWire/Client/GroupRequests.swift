// Client → daemon: groups and projects (spec/mew-wire.md §3.1.4). Everyone gets `groups_changed`, `session_meta_changed` or
// `project_list`. `list_projects` has no fields.

extension ClientMessage {
    /// `create_group`.
    public struct CreateGroup: Record, Sendable, Equatable {
        public var name: String
        public var color: String?

        public init(name: String, color: String? = nil) {
            (self.name, self.color) = (name, color)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            name = try f.required("name", old?.name, upTo: TextLimits.nameBytes)
            color = try f.optional("color", old?.color, upTo: TextLimits.nameBytes)
        }
    }

    /// `update_group`: what is nil stays as it is; a colour can be changed, not removed.
    public struct UpdateGroup: Record, Sendable, Equatable {
        public var groupID: GroupID
        public var name: String?
        public var color: String?
        public var order: UInt32?

        public init(groupID: GroupID, name: String? = nil, color: String? = nil, order: UInt32? = nil) {
            (self.groupID, self.name, self.color, self.order) = (groupID, name, color, order)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            groupID = try f.required("group_id", old?.groupID)
            name = try f.optional("name", old?.name, upTo: TextLimits.nameBytes)
            color = try f.optional("color", old?.color, upTo: TextLimits.nameBytes)
            order = try f.optional("order", old?.order)
        }
    }

    /// `delete_group`: its sessions stay.
    public struct DeleteGroup: Record, Sendable, Equatable {
        public var groupID: GroupID

        public init(groupID: GroupID) {
            self.groupID = groupID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            groupID = try f.required("group_id", old?.groupID)
        }
    }

    /// `assign_session_group`: without a group the session leaves its group.
    public struct AssignSessionGroup: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var groupID: GroupID?
        /// Ignored.
        public var position: UInt32?

        public init(sessionID: SessionID, groupID: GroupID? = nil, position: UInt32? = nil) {
            (self.sessionID, self.groupID, self.position) = (sessionID, groupID, position)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            groupID = try f.optional("group_id", old?.groupID)
            position = try f.optional("position", old?.position)
        }
    }

    /// `pin_project`.
    public struct PinProject: Record, Sendable, Equatable {
        public var path: String
        public var pinned: Bool

        public init(path: String, pinned: Bool) {
            (self.path, self.pinned) = (path, pinned)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            path = try f.required("path", old?.path, upTo: TextLimits.pathBytes)
            pinned = try f.required("pinned", old?.pinned)
        }
    }
}
