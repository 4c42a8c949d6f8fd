// Tests of MewQUIC.
