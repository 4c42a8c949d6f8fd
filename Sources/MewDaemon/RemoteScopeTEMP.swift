package enum RemoteScope: String, Sendable, CaseIterable { case observe, collaborate, control }
