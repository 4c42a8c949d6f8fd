// Tests of MewIdentity.
