// Tests of MewWire.
