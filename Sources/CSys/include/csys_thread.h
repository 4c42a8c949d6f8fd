#ifndef CSYS_THREAD_H
#define CSYS_THREAD_H

#include <stdint.h>

/// Starts a detached thread with every asynchronous signal blocked, so that signals reach the signalfd or the main
/// thread. `name` shows in `ps -L` and is cut to 15 bytes. 0, or an errno value.
int csys_thread_start(const char *name, void (*body)(void *), void *context);

/// A number no other live thread of this process has; never 0.
uint64_t csys_thread_current(void);

/// How many processors this process may run on, at least 1.
int csys_processor_count(void);

/// Makes stdout line-buffered even when it is a pipe: a reader of a daemon waits for whole lines, not for 4 KiB.
void csys_stdout_line_buffered(void);

#endif
