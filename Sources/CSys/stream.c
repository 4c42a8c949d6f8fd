#define _GNU_SOURCE
#include "csys_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/// Fills `name` for `path`. A path longer than the 107 bytes a name holds is reached through a handle on its
/// directory, left open in `directory`; -1 otherwise. 0, or an errno value.
static int unix_name(const char *path, struct sockaddr_un *name, int *directory) {
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    *directory = -1;
    size_t length = strlen(path);
    if (length < sizeof name->sun_path) {
        memcpy(name->sun_path, path, length);
        return 0;
    }
    const char *slash = strrchr(path, '/');
    char parent[4096];
    if (!slash || slash == path || (size_t)(slash - path) >= sizeof parent) return ENAMETOOLONG;
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = 0;
    *directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*directory < 0) return errno;
    int used = snprintf(name->sun_path, sizeof name->sun_path, "/proc/self/fd/%d/%s", *directory, slash + 1);
    return used < 0 || (size_t)used >= sizeof name->sun_path ? ENAMETOOLONG : 0;
}

static int unix_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

static int connect_to(const struct sockaddr_un *name) {
    int fd = unix_socket();
    if (fd < 0) return -errno;
    if (connect(fd, (const struct sockaddr *)name, sizeof *name) == 0) return fd;
    int error = errno;
    close(fd);
    return -error;
}

int csys_unix_connect(const char *path) {
    struct sockaddr_un name;
    int directory, error = unix_name(path, &name, &directory);
    int result = error ? -error : connect_to(&name);
    if (directory >= 0) close(directory);
    return result;
}

/// 0 when the socket file was left behind by somebody who is gone, and is removed now; an errno value otherwise.
static int remove_stale(const struct sockaddr_un *name) {
    struct stat info;
    if (lstat(name->sun_path, &info) < 0) return errno == ENOENT ? 0 : errno;
    // Connecting to a plain file is refused as well: only sockets may be removed.
    if (!S_ISSOCK(info.st_mode)) return EEXIST;
    int fd = connect_to(name);
    if (fd >= 0) close(fd);
    if (fd != -ECONNREFUSED) return EADDRINUSE;
    return unlink(name->sun_path) < 0 && errno != ENOENT ? errno : 0;
}

static int listen_at(const struct sockaddr_un *name) {
    int fd = unix_socket(), error = 0;
    if (fd < 0) return -errno;
    // The mode of an unbound socket is the mode its file gets; a chmod afterwards would leave a gap.
    if (fchmod(fd, 0600) < 0) error = errno;
    for (int tries = 0; !error; tries++) {
        if (bind(fd, (const struct sockaddr *)name, sizeof *name) == 0) break;
        error = errno == EADDRINUSE && tries == 0 ? remove_stale(name) : errno;
    }
    if (!error && listen(fd, 64) < 0) error = errno;
    if (!error) return fd;
    close(fd);
    return -error;
}

int csys_unix_listen(const char *path) {
    struct sockaddr_un name;
    int directory, error = unix_name(path, &name, &directory);
    int result = error ? -error : listen_at(&name);
    if (directory >= 0) close(directory);
    return result;
}

int csys_unix_pair(int *one, int *other) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) return errno;
    *one = ends[0];
    *other = ends[1];
    return 0;
}

int csys_stream_accept(int fd) {
    int connection;
    do connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (connection < 0 && (errno == EINTR || errno == ECONNABORTED));
    return connection < 0 ? -errno : connection;
}

int csys_unix_peer(int fd, csys_peer *peer) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return errno;
    *peer = (csys_peer){.pid = credentials.pid, .uid = credentials.uid, .gid = credentials.gid};
    return 0;
}

uint32_t csys_effective_user(void) { return geteuid(); }

int64_t csys_stream_read(int fd, void *buffer, size_t count) {
    ssize_t n;
    do n = recv(fd, buffer, count, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

int64_t csys_shared_read(int fd, void *buffer, size_t count) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready = poll(&wait, 1, 0);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return -EAGAIN;
    ssize_t n;
    do n = read(fd, buffer, count);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

int64_t csys_stream_write(int fd, const void *bytes, size_t count) {
    ssize_t n;
    do n = send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

void csys_stream_finish(int fd) { shutdown(fd, SHUT_WR); }

int csys_path_identity(const char *path, uint64_t *device, uint64_t *inode) {
    struct stat info;
    if (lstat(path, &info) < 0) return errno;
    *device = info.st_dev;
    *inode = info.st_ino;
    return 0;
}

int csys_unlink(const char *path) { return unlink(path) < 0 ? errno : 0; }
