// Tests of MewHostile.
