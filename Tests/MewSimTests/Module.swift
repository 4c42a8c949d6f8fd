// Tests of MewSim.
