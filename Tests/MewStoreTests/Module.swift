// Tests of MewStore.
