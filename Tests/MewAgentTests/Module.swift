// Tests of MewAgent.
