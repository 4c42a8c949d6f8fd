// The kernel's own header has fields of tcp_info that the C library's does not know, and the two cannot stand in one file.
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "csys_tcp.h"

int64_t csys_tcp_unsent(int fd) {
    int count = 0;
    return ioctl(fd, SIOCOUTQNSD, &count) < 0 ? -errno : count;
}

int64_t csys_tcp_delivery_rate(int fd) {
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0) return -errno;
    if (length < offsetof(struct tcp_info, tcpi_delivery_rate) + sizeof info.tcpi_delivery_rate) return -ENOTSUP;
    return info.tcpi_delivery_rate > INT64_MAX ? INT64_MAX : (int64_t)info.tcpi_delivery_rate;
}

int csys_tcp_wake_below(int fd, int bytes) {
    // The kernel calls a socket writable when less than half of this is unsent.
    int doubled = 2 * bytes;
    return setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &doubled, sizeof doubled) < 0 ? errno : 0;
}
