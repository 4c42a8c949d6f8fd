#define _GNU_SOURCE
#include "csys_stream.h"

#include <errno.h>
#include <sys/socket.h>

int csys_unix_peer(int fd, csys_peer *peer) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return errno;
    *peer = (csys_peer){.pid = credentials.pid, .uid = credentials.uid, .gid = credentials.gid};
    return 0;
}
