#ifndef CSYS_POLL_H
#define CSYS_POLL_H

#include <stdint.h>

/// What a descriptor is watched for, and what it is ready for.
enum {
    CSYS_READABLE = 1,
    CSYS_WRITABLE = 2,
    /// Reported without being asked for: an error, or a filled error queue.
    CSYS_FAILED = 4,
    /// Reported without being asked for: the other end is gone.
    CSYS_HUNG_UP = 8,
};

typedef struct csys_event {
    uint64_t token;
    uint32_t ready;
} csys_event;

/// The epoll descriptor, or minus an errno value.
int csys_poll_create(void);

/// Level-triggered. 0, or an errno value.
int csys_poll_add(int poll, int fd, uint32_t interest, uint64_t token);
int csys_poll_change(int poll, int fd, uint32_t interest, uint64_t token);
int csys_poll_remove(int poll, int fd);

/// Waits at most `timeout` nanoseconds (0: not at all; negative: for ever) and returns how many of `events` were
/// filled; 0 also when a signal came. Minus an errno value when the call itself is wrong.
///
/// Uses epoll_pwait2; where the kernel, a sandbox or valgrind has none, or when `milliseconds_only` is set (a test
/// switch), epoll_wait with the time rounded up to milliseconds, so that a timer never fires early.
int csys_poll_wait(int poll, csys_event *events, int capacity, int64_t timeout, int milliseconds_only);

/// An eventfd that wakes a loop, or minus an errno value.
int csys_wake_create(void);
void csys_wake_signal(int fd);
void csys_wake_clear(int fd);

/// Closes a descriptor. EINTR is not retried: Linux has released it by then.
void csys_close(int fd);

#endif
