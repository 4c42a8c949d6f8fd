// Tests of MewCommand.
