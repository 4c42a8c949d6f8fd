// Tests of MewClient.
