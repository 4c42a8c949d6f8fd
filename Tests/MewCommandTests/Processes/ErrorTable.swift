import MewWire

/// Every case of the page of errors, in its order. `ErrorTableTests` makes each of them happen.
enum ErrorTable {
    /// A group of the page.
    struct Chapter: Sendable {
        let title: String
        let cases: [ErrorCase]
    }

    static let chapters = [payloads, nodeIDs, pairing, entering, starting, relays, disks, sessions, prompts]

    static subscript(name: String) -> ErrorCase? { chapters.flatMap(\.cases).first { $0.name == name } }

    static let payloads = Chapter(
        title: "Payloads",
        cases: [
            .init(
                "empty payload", .badInput,
                "could not read the payload: the payload is empty; paste what 'mew pair' shows."),
            .init(
                "payload too long", .badInput,
                "could not read the payload: the payload has {count} bytes; the longest that mew makes has 8192. "
                    + "Copy the whole line that 'mew pair' prints."),
            .init(
                "payload of another version", .unknownVersion,
                "could not read the payload: the payload is of version mew002, and this mew knows mew001 only; "
                    + "update mew on this machine."),
            .init(
                "payload that the shell took apart", .badInput,
                "could not read the payload: the shell took the payload apart; put it in single quotes: mew add '…'."),
            .init(
                "whole command as payload", .badInput,
                "could not read the payload: this is a whole command; give only the payload inside its quotes."),
            .init(
                "quotes inside the quotes", .badInput,
                "could not read the payload: there are quotes around the payload; leave them out here."),
            .init(
                "label before the node ID", .badInput,
                "could not read the payload: leave out 'mew-node-id:' and give the node ID after it."),
            .init(
                "several words as payload", .badInput,
                "could not read the payload: this is more than one word; a payload or node ID has no spaces outside "
                    + "its JSON."),
            .init(
                "damaged payload", .badInput,
                "could not read the payload: the payload after 'mew001:' is damaged: {problem}. Copy the whole line "
                    + "that 'mew pair' prints."),
            .init(
                "payload without node ID", .badInput,
                "could not read the payload: the payload has no node_id. Copy the whole line that 'mew pair' prints."),
            .init(
                "payload with a wrong part", .badInput,
                "could not read the payload: token in the payload has 3 characters after mew_ instead of 26. Copy "
                    + "the whole line that 'mew pair' prints."),
        ])

    static let nodeIDs = Chapter(
        title: "Node IDs and names",
        cases: [
            .init(
                "no node ID at all", .badInput,
                "could not read the payload: a node ID has 52 characters (or 64 hex digits); this has 8. Copy the "
                    + "whole line that 'mew pair' prints."),
            .init(
                "look-alike character in a node ID", .badInput,
                "could not read the payload: character 1 of the node ID is \"0\", which is not in the lower-case "
                    + "z-base-32 alphabet; did you mean \"o\"? Copy the whole line that 'mew pair' prints."),
            .init(
                "node ID that is no key", .badInput,
                "could not read the payload: the node ID is written correctly but is no ed25519 public key; a "
                    + "character is probably mistyped. Copy the whole line that 'mew pair' prints."),
            .init(
                "node ID of nobody, without an address", .unreachable,
                "could not reach the daemon: no address of it is known. Check that 'mew daemon' runs there, or give "
                    + "its address with --addr IP:PORT."),
            .init(
                "node ID of nobody, at an address where nobody listens", .unreachable,
                "could not reach the daemon: 127.0.0.1:1: connection refused. Check that 'mew daemon' runs there, or "
                    + "give its address with --addr IP:PORT."),
            .init(
                "node ID of somebody else than who is at the address", .wrongNode,
                "could not pair with the daemon: another node answered at {address}. Check the address, or pair with "
                    + "the node that is there now."),
            .init(
                "node ID of this very node", .badInput,
                "that is the ID of this very node. A daemon and its clients have state directories of their own; see "
                    + "--home."),
            .init(
                "name of a daemon when none is known", .unknownDaemon,
                "no daemon is called 'desk'. Run 'mew pair' on its machine and 'mew add' here first."),
            .init("mistyped name of a daemon", .unknownDaemon, "no daemon is called 'dekk'. Did you mean desk?"),
            .init("mistyped node ID of a daemon", .unknownDaemon, "no daemon is called '{typed}'. Did you mean desk?"),
            .init("unlike any name of a daemon", .unknownDaemon, "no daemon is called 'phone'. See 'mew ls'."),
            .init(
                "node ID of a daemon that was never added", .unknownDaemon,
                "no daemon with the node ID {other} is known here. Run 'mew pair' on its machine and 'mew add' here "
                    + "first, or name a relay that knows it with --relay URL."),
            .init(
                "node ID with a character missing", .unknownDaemon,
                "no daemon is called '{typed}', and it is no node ID: a node ID has 52 characters (or 64 hex digits); this "
                    + "has 51."),
        ])

    static let pairing = Chapter(
        title: "Pairing",
        cases: [
            .init(
                "no window is open", .windowClosed,
                "could not pair: the daemon is not waiting for a new device. Run 'mew pair' there, and 'mew add' "
                    + "within its 120 s."),
            .init(
                "window expired, at the device", .windowClosed,
                "could not pair: desk is not waiting for a new device. Run 'mew pair' there, and 'mew add' within "
                    + "its 120 s."),
            .init(
                "window expired, at the daemon", .timedOut,
                "the time is over and the code is dead; nobody was let in. Run 'mew pair' again."),
            .init(
                "window closed with Ctrl-C", .timedOut,
                "the pairing window was closed; nobody was let in. Run 'mew pair' again."),
            .init(
                "code used up", .windowClosed,
                "could not pair: desk is not waiting for a new device. Run 'mew pair' there, and 'mew add' within "
                    + "its 120 s."),
            .init(
                "window expired while a person was to compare digits", .windowClosed,
                "could not pair: the pairing window is closed; run mew pair again."),
            .init(
                "refused by the person at the daemon", .unauthorized,
                "could not pair: the person at the daemon refused this device. Run 'mew pair' there again and "
                    + "use the new payload."),
            .init(
                "code of an earlier window", .unauthorized,
                "could not pair: this pairing code is not valid; run mew pair again and use the new one."),
            .init(
                "no code, and nobody there to compare digits", .unauthorized,
                "could not pair: nobody can confirm this device at the daemon; use the pairing code."),
            .init(
                "not the device that --expect names", .unauthorized,
                "could not pair: the daemon waits for another device. Run 'mew pair' there again and use the new "
                    + "payload."),
            .init(
                "a second window", .busy,
                "another pairing window is open; close that one, or wait until it expires."),
        ])

    static let entering = Chapter(
        title: "Reaching a daemon",
        cases: [
            .init(
                "daemon does not know this device", .unauthorized,
                "could not reach desk: it does not know this device. Run 'mew pair' there, then 'mew add' here."),
            .init(
                "device revoked", .revoked,
                "could not reach desk: it has revoked this device (it says: revoked at {when} UTC; pair this device "
                    + "again to use it). Run 'mew pair' there, then 'mew add' here."),
            .init(
                "device revoked while it is connected", .revoked,
                "could not stay connected to desk: it has revoked this device (it says: revoked at {when} UTC; pair "
                    + "this device again to use it). Run 'mew pair' there, then 'mew add' here."),
            .init(
                "scope too small", .scope,
                "could not start a session on desk: {reason}. On the daemon's machine, 'mew peers scope' can give "
                    + "this device more rights."),
            .init(
                "daemon down", .unreachable,
                "could not reach desk: {address}: connection refused. Check that 'mew daemon' runs there, or give "
                    + "its address with --addr IP:PORT."),
            .init(
                "no daemon on this machine", .unreachable,
                "no daemon runs for the state directory {home}. Start it with 'mew daemon'."),
        ])

    static let starting = Chapter(
        title: "Starting a daemon",
        cases: [
            .init(
                "port taken", .portTaken,
                "cannot listen on UDP {address}: another process has that port. Stop it, or choose another port with "
                    + "--bind IP:PORT."),
            .init(
                "address of another machine", .badInput,
                "cannot listen on UDP 192.0.2.1:4433: no network interface here has that address. Choose another "
                    + "address with --bind IP:PORT."),
            .init(
                "state directory in use", .directoryLocked,
                "cannot use the state directory {home}, because another mew daemon is using it (process {process}). "
                    + "Stop that daemon, or choose another directory with --home DIR."),
            .init(
                "no such agent", .badInput,
                "there is no built-in agent 'fish'; the only one is 'shell' (--agent shell). See 'mew help daemon'."),
            .init(
                "relay token that no relay can be shown", .badInput,
                "--relay-token must have 1 to 1024 bytes, without blanks and control characters."),
            .init(
                "such a relay token in config.json", .badInput,
                "cannot use {home}/config.json: \"relay_token\" must have 1 to 1024 bytes, without blanks and control "
                    + "characters. Correct it, or move it away."),
        ])

    static let disks = Chapter(
        title: "State directory and disk",
        cases: [
            .init(
                "state directory read-only, at the daemon's start", .directoryReadOnly,
                "cannot write to the state directory {home} (opening {home}/daemon.lock: read-only file system). "
                    + "Make it writable for this user, or choose another one with --home DIR."),
            .init(
                "state directory that cannot be made", .directoryReadOnly,
                "cannot write to the state directory {home} (making {home}: read-only file system). Make it writable "
                    + "for this user, or choose another one with --home DIR."),
            .init(
                "device's state directory read-only, pairing", .directoryReadOnly,
                "could not remember a daemon, so it was not asked: cannot write to {home}/client.lock: it is "
                    + "read-only. Make it writable for this user, or choose another state directory with --home DIR."),
            .init(
                "device's state directory read-only, prompting", .directoryReadOnly,
                "could not send the prompt: cannot write to {home}/client.lock: it is read-only. Make it writable "
                    + "for this user, or choose another state directory with --home DIR."),
            .init(
                "state directory of others", .badInput,
                "cannot use {home} as the state directory, because others can enter it and it holds other things. "
                    + "Name a directory of its own with --home DIR."),
            .init(
                "state directory that others can enter, with nothing but mew's own files", .badInput,
                "cannot use {home} as the state directory, because others can enter it. Close it to them: chmod 700 {home}."
            ),
            .init(
                "state directory is a file", .directoryReadOnly,
                "cannot write to the state directory {home} (opening {home}: not a directory). Make it writable for "
                    + "this user, or choose another one with --home DIR."),
            .init(
                "a directory in the place of the database", .badInput,
                "cannot use the database {home}/sessions.db: it is a directory. Move it away, or choose another "
                    + "directory with --home DIR."),
            .init(
                "a named pipe in the place of the database", .badInput,
                "cannot use the database {home}/sessions.db: it is a named pipe. Move it away, or choose another "
                    + "directory with --home DIR."),
            .init(
                "database of another user", .badInput,
                "cannot use the database {home}/sessions.db: it belongs to another user. Run as that user, or choose "
                    + "another directory with --home DIR."),
            .init(
                "database that this user may not read", .badInput,
                "cannot use the database {home}/sessions.db: permission denied. Let this user read and write it: chmod "
                    + "600 {home}/sessions.db."),
            .init(
                "disk full, making the key", .notSaved,
                "cannot create the key file {home}/node.key: no space left on device. Free some space, then try "
                    + "again."),
            .init(
                "disk full, making the database", .notSaved,
                "cannot write to the database in {home}: database or disk is full. Free some space, then try again."),
            .init(
                "daemon's disk full, a new session", .notSaved,
                "could not start a session on desk: nothing is being saved: database or disk is full. Free some "
                    + "space on the daemon's disk."),
            .init(
                "daemon's disk full, a prompt", .notSaved,
                "could not run the prompt: nothing is being saved: the disk is full or fails; try again when there "
                    + "is room. Free some space on the daemon's disk."),
            .init(
                "daemon's disk full, pairing", .notSaved,
                "could not pair: the daemon could not save this device; free some disk space there and try again."),
            .init(
                "device's disk full, pairing", .notSaved,
                "could not remember a daemon, so it was not asked: could not save {home}/client.json: no space left "
                    + "on device. Free some space, then try again."),
            .init(
                "device's disk full, a new session", .notSaved,
                "could not start a session on desk: could not save {home}/client.json: no space left on device. Free "
                    + "some space, then try again."),
        ])

    static let sessions = Chapter(
        title: "Sessions",
        cases: [
            .init("session unknown", .unknownSession, "desk has no session 'zzzz'. See 'mew sessions desk'."),
            .init(
                "too little of a session's ID", .unknownSession,
                "'zz' is too short for the end of a session ID. Give at least 4 characters, or the number in 'mew "
                    + "sessions desk'."),
            .init(
                "directory missing", .badCwd,
                "could not start a session on desk: session cwd does not exist: {place}. Name a directory that "
                    + "exists on the daemon's machine."),
            .init(
                "directory is a file", .badCwd,
                "could not start a session on desk: session cwd is not a directory: {place}. Name a directory that "
                    + "exists on the daemon's machine."),
            .init(
                "directory closed to the daemon", .badCwd,
                "could not start a session on desk: session cwd cannot be used (permission denied): {place}. Name a "
                    + "directory that exists on the daemon's machine."),
            .init(
                "directory not absolute", .badCwd,
                "could not start a session on desk: session cwd is not an absolute path: src. Name a directory that "
                    + "exists on the daemon's machine."),
            .init("no such operation", .badInput, "no operation there is called 'zzzz'. See 'mew ops desk'."),
            .init(
                "operation that is not unknown, sent again", .busy,
                "only an unknown operation can be sent again; this one is stored. Ask about it with --check."),
            .init(
                "question unknown", .unknownRequest,
                "desk asks nothing that ends in AAAA. It may be answered already; see 'mew sessions desk'."),
        ])
}
