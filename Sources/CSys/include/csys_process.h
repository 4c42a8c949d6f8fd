#ifndef CSYS_PROCESS_H
#define CSYS_PROCESS_H

#include <stdint.h>

/// How to start a program. The child gets default signal handlers, an empty signal mask and no descriptor above 2.
typedef struct csys_spawn {
    /// A path, or with `search` a name that is looked up in PATH.
    const char *program;
    /// Both end with NULL.
    const char *const *arguments;
    const char *const *environment;
    /// NULL: the caller's.
    const char *directory;
    /// Descriptors that become 0, 1 and 2; -1 stands for /dev/null.
    int input, output, errors;
    int search;
    /// A session of its own: no controlling terminal, and a process group that one signal reaches whole.
    int new_session;
    /// A process group of its own in the caller's session.
    int new_group;
} csys_spawn;

/// Starts the program. On success `pid` and `pidfd` (close it) are filled and 0 is returned, otherwise an errno value:
/// a program that cannot be executed and a missing directory come back here too.
int csys_spawn_start(const csys_spawn *spawn, int32_t *pid, int *pidfd);

/// A pipe whose `reader` and `writer` are closed on exec; 0, or an errno value.
int csys_pipe(int *reader, int *writer);
int csys_set_nonblocking(int fd);

/// How a child ended.
typedef struct csys_exit {
    /// 1: `code` is the signal that killed it. 0: the exit status.
    int by_signal;
    int code;
} csys_exit;

/// Collects a child that has exited. 0 and `exit` filled; EAGAIN while it runs; another errno value otherwise.
int csys_reap(int pidfd, csys_exit *exit);

/// A descriptor that becomes readable when the process exits; minus an errno value (ESRCH: there is none).
int csys_pidfd_open(int32_t pid);
/// 0, or an errno value (ESRCH: it is gone).
int csys_pidfd_signal(int pidfd, int signal);
/// Signals every process of a group; 0, or an errno value (ESRCH: none left).
int csys_group_signal(int32_t group, int signal);

/// Blocks these signals and returns a signalfd for them, or minus an errno value. Call before any thread exists:
/// threads inherit the mask, and a signal goes to any thread that does not block it.
int csys_signals_open(const int *signals, int count);
/// The next signal that arrived; 0 when none waits; minus an errno value.
int csys_signals_read(int fd);
/// Writing to a closed pipe then fails with EPIPE instead of ending the process.
void csys_ignore_sigpipe(void);

#endif
