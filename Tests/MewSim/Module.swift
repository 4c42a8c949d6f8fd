// The simulated world of the tests: virtual time, seeded networks, frozen and killed nodes.
