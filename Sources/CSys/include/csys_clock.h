#ifndef CSYS_CLOCK_H
#define CSYS_CLOCK_H

#include <stdint.h>

/// Nanoseconds since the machine started, sleep included (CLOCK_BOOTTIME).
uint64_t csys_boot_nanoseconds(void);

/// The same without sleep (CLOCK_MONOTONIC): the difference grows while the machine sleeps.
uint64_t csys_awake_nanoseconds(void);

/// A timerfd on the boot-time clock, which fires at once on waking when its time passed during sleep; epoll's own
/// time-out stands still meanwhile. Minus an errno value when there is none.
int csys_boot_timer_create(void);
/// Arms it for a point on the clock of csys_boot_nanoseconds.
void csys_boot_timer_arm(int fd, uint64_t nanoseconds);
void csys_boot_timer_clear(int fd);

/// Milliseconds since the Unix epoch. For display and identifiers only: it jumps.
uint64_t csys_wall_milliseconds(void);

#endif
