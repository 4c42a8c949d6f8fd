// Accepts devices, owns sessions, answers operations.
