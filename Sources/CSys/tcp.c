#define _GNU_SOURCE
#include "csys_tcp.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "udp_internal.h"

static int set(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof value) < 0 ? errno : 0;
}

static int tcp_socket(csys_address address) {
    int family = address.family == 4 ? AF_INET : AF_INET6;
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/// Neither option can fail on a TCP socket of a kernel that is recent enough for the rest; without them it is only slower.
static void tune(int fd) {
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    csys_tcp_wake_below(fd, CSYS_TCP_UNSENT);
}

static int listen_on(int fd, csys_address address) {
    name name;
    socklen_t length = csys_name_from(address, &name);
    // A restarted relay must not wait a minute for the connections of its predecessor.
    int error = set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (!error && address.family == 6) error = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (error) return error;
    if (bind(fd, &name.any, length) < 0) return errno;
    return listen(fd, CSYS_TCP_BACKLOG) < 0 ? errno : 0;
}

int csys_tcp_listen(csys_address address) {
    int fd = tcp_socket(address);
    if (fd < 0) return -errno;
    int error = listen_on(fd, address);
    if (!error) return fd;
    close(fd);
    return -error;
}

int csys_tcp_accept(int fd, csys_address *peer) {
    name name;
    int connection;
    do {
        socklen_t length = sizeof name;
        connection = accept4(fd, &name.any, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    } while (connection < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (connection < 0) return -errno;
    *peer = csys_name_to(&name);
    tune(connection);
    return connection;
}

int csys_tcp_connect(csys_address address) {
    int fd = tcp_socket(address);
    if (fd < 0) return -errno;
    tune(fd);
    name name;
    socklen_t length = csys_name_from(address, &name);
    if (connect(fd, &name.any, length) == 0 || errno == EINPROGRESS) return fd;
    int error = errno;
    close(fd);
    return -error;
}

int csys_tcp_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

int csys_tcp_local(int fd, csys_address *local) {
    name name;
    socklen_t length = sizeof name;
    if (getsockname(fd, &name.any, &length) < 0) return errno;
    *local = csys_name_to(&name);
    return 0;
}

// The kernel doubles it for its own bookkeeping.
void csys_tcp_limit_unread(int fd, int bytes) { set(fd, SOL_SOCKET, SO_RCVBUF, bytes); }

void csys_tcp_abort_on_close(int fd) {
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

int csys_resolve(const char *host, uint16_t port, csys_address *out, int room) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    int code = getaddrinfo(host, NULL, &hints, &found);
    // AI_ADDRCONFIG hides loopback addresses from a machine that has no other.
    if (code == EAI_NONAME || code == EAI_ADDRFAMILY) {
        hints.ai_flags = 0;
        code = getaddrinfo(host, NULL, &hints, &found);
    }
    // The codes are negative on Linux.
    if (code != 0) return code < 0 ? code : -code;
    int count = 0;
    for (struct addrinfo *entry = found; entry && count < room; entry = entry->ai_next) {
        if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
        name name;
        memcpy(&name, entry->ai_addr, entry->ai_addrlen < sizeof name ? entry->ai_addrlen : sizeof name);
        out[count] = csys_name_to(&name);
        out[count++].port = port;
    }
    freeaddrinfo(found);
    return count;
}

const char *csys_resolve_reason(int code) { return gai_strerror(code); }

bool csys_resolve_says_none(int code) {
    return code == EAI_NONAME || code == EAI_NODATA || code == EAI_ADDRFAMILY;
}
