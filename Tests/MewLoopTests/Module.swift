// Tests of MewLoop.
