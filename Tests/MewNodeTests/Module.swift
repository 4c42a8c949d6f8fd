// Tests of MewNode.
