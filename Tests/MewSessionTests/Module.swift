// Tests of MewSession.
