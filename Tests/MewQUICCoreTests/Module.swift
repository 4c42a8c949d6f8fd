// Tests of MewQUICCore.
