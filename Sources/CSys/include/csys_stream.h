#ifndef CSYS_STREAM_H
#define CSYS_STREAM_H

#include <stdint.h>

/// Who is at the other end of a Unix socket, as the kernel saw it when the connection was made.
typedef struct csys_peer {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
} csys_peer;

/// 0, or an errno value.
int csys_unix_peer(int fd, csys_peer *peer);

#endif
