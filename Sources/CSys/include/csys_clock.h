#ifndef CSYS_CLOCK_H
#define CSYS_CLOCK_H

#include <stdint.h>

/// Nanoseconds since the machine started, sleep included (CLOCK_BOOTTIME).
uint64_t csys_boot_nanoseconds(void);

/// Milliseconds since the Unix epoch. For display and identifiers only: it jumps.
uint64_t csys_wall_milliseconds(void);

#endif
