// Tests of MewHost.
