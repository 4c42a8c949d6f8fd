#define _GNU_SOURCE
#include "csys_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

int csys_pipe(int *reader, int *writer) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return errno;
    *reader = ends[0];
    *writer = ends[1];
    return 0;
}

int csys_set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? errno : 0;
}

/// Places `fd` at `target` of the child; -1 is /dev/null.
static int redirect(posix_spawn_file_actions_t *actions, int fd, int target) {
    if (fd < 0)
        return posix_spawn_file_actions_addopen(actions, target, "/dev/null", target == 0 ? O_RDONLY : O_WRONLY, 0);
    return posix_spawn_file_actions_adddup2(actions, fd, target);
}

static int add_actions(posix_spawn_file_actions_t *actions, const csys_spawn *spawn, const int *fds) {
    int error = 0;
    for (int target = 0; target < 3 && !error; target++) error = redirect(actions, fds[target], target);
    if (!error && spawn->directory) error = posix_spawn_file_actions_addchdir_np(actions, spawn->directory);
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    return error;
}

static int add_attributes(posix_spawnattr_t *attributes, const csys_spawn *spawn) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    if (spawn->new_session) flags |= POSIX_SPAWN_SETSID;
    if (spawn->new_group) flags |= POSIX_SPAWN_SETPGROUP;
    int error = posix_spawnattr_setsigdefault(attributes, &all);
    if (!error) error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error) error = posix_spawnattr_setpgroup(attributes, 0);
    if (!error) error = posix_spawnattr_setflags(attributes, flags);
    return error;
}

static int start(const csys_spawn *spawn, const int *fds, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int error = add_actions(&actions, spawn, fds);
    if (!error) error = add_attributes(&attributes, spawn);
    char *const *arguments = (char *const *)spawn->arguments, *const *environment = (char *const *)spawn->environment;
    if (!error)
        error = spawn->search ? posix_spawnp(pid, spawn->program, &actions, &attributes, arguments, environment)
                              : posix_spawn(pid, spawn->program, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int csys_spawn_start(const csys_spawn *spawn, int32_t *pid, int *pidfd) {
    // A descriptor below 3 (the caller runs without stdin, say) would be overwritten by an earlier redirection.
    int given[3] = {spawn->input, spawn->output, spawn->errors}, fds[3], error = 0;
    for (int i = 0; i < 3; i++) {
        fds[i] = given[i] >= 0 && given[i] < 3 ? fcntl(given[i], F_DUPFD_CLOEXEC, 3) : given[i];
        if (fds[i] < 0 && given[i] >= 0) error = errno;
    }
    if (!error) error = start(spawn, fds, pid);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0 && fds[i] != given[i]) close(fds[i]);
    if (error) return error;
    *pidfd = pidfd_open(*pid, 0);  // nobody else reaps our child, so the number is still its own
    if (*pidfd >= 0) return 0;
    error = errno;
    kill(*pid, SIGKILL);
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR) {}
    return error;
}

int csys_reap(int pidfd, csys_exit *exit) {
    siginfo_t info = {0};
    while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) < 0)
        if (errno != EINTR) return errno;
    if (info.si_pid == 0) return EAGAIN;
    exit->by_signal = info.si_code != CLD_EXITED;
    exit->code = info.si_status;
    return 0;
}

int csys_pidfd_open(int32_t pid) {
    int fd = pidfd_open(pid, 0);
    return fd < 0 ? -errno : fd;
}

int csys_pidfd_signal(int pidfd, int signal) { return pidfd_send_signal(pidfd, signal, NULL, 0) < 0 ? errno : 0; }

int csys_group_signal(int32_t group, int signal) {
    if (group <= 1) return EINVAL;  // 0 is our own group, -1 everybody
    return kill(-group, signal) < 0 ? errno : 0;
}

int csys_signals_open(const int *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < count; i++) sigaddset(&set, signals[i]);
    int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (error) return -error;
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int csys_signals_read(int fd) {
    struct signalfd_siginfo info;
    ssize_t n = read(fd, &info, sizeof info);
    if (n == (ssize_t)sizeof info) return (int)info.ssi_signo;
    return n < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
}

void csys_ignore_sigpipe(void) { signal(SIGPIPE, SIG_IGN); }
