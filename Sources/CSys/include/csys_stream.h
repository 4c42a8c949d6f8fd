#ifndef CSYS_STREAM_H
#define CSYS_STREAM_H

#include <stddef.h>
#include <stdint.h>

/// Unix stream sockets, non-blocking and closed on exec. Results are a descriptor or count, or minus an errno value.

/// Binds `path` (mode 0600, of any length) and listens. A socket file that nobody listens on any more is replaced;
/// EADDRINUSE: somebody does listen there; EEXIST: the path is something else, which is left alone. Who may listen there is
/// settled before, by a lock: a file that was bound a moment ago and is not listened on yet looks as if left behind.
int csys_unix_listen(const char *path);
/// ECONNREFUSED: nobody listens there. EAGAIN: the listener's queue is full.
int csys_unix_connect(const char *path);
/// Two ends connected to each other; 0, or an errno value.
int csys_unix_pair(int *one, int *other);
/// The next connection; EAGAIN when none waits.
int csys_stream_accept(int fd);

/// Who is at the other end of a Unix socket, as the kernel saw it when the connection was made.
typedef struct csys_peer {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
} csys_peer;

/// 0, or an errno value.
int csys_unix_peer(int fd, csys_peer *peer);
/// The user this process acts as.
uint32_t csys_effective_user(void);

/// How many bytes were read; 0 at the end; EAGAIN when nothing waits.
int64_t csys_stream_read(int fd, void *buffer, size_t count);
/// The same for a descriptor that is not ours to make non-blocking (the terminal is shared with the shell): polls first.
int64_t csys_shared_read(int fd, void *buffer, size_t count);
/// How many bytes were taken; EAGAIN when there is no room. Never raises SIGPIPE.
int64_t csys_stream_write(int fd, const void *bytes, size_t count);
/// Ends our direction; the other one stays open.
void csys_stream_finish(int fd);

/// Identifies what is at `path` now, without following a link; 0, or an errno value.
int csys_path_identity(const char *path, uint64_t *device, uint64_t *inode);
int csys_unlink(const char *path);

#endif
