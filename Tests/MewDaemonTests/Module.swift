// Tests of MewDaemon.
