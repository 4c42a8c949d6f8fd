#ifndef CSYS_CLOCK_H
#define CSYS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/// Nanoseconds since the machine started, sleep included (CLOCK_BOOTTIME).
uint64_t csys_boot_nanoseconds(void);

/// Milliseconds since the Unix epoch. For display and identifiers only: it jumps.
uint64_t csys_wall_milliseconds(void);

/// Fills `buffer` from the system's generator; 0, or an errno value.
int csys_random(void *buffer, size_t count);

#endif
