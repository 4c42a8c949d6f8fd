#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "udp_internal.h"

socklen_t csys_name_from(csys_address address, name *name) {
    memset(name, 0, sizeof *name);
    if (address.family == 4) {
        name->v4.sin_family = AF_INET;
        name->v4.sin_port = htons(address.port);
        name->v4.sin_addr.s_addr = htonl((uint32_t)(address.high >> 32));
        return sizeof name->v4;
    }
    name->v6.sin6_family = AF_INET6;
    name->v6.sin6_port = htons(address.port);
    name->v6.sin6_scope_id = address.scope;
    csys_store_64(name->v6.sin6_addr.s6_addr, address.high);
    csys_store_64(name->v6.sin6_addr.s6_addr + 8, address.low);
    return sizeof name->v6;
}

csys_address csys_name_to(const name *name) {
    if (name->any.sa_family == AF_INET)
        return (csys_address){.high = (uint64_t)ntohl(name->v4.sin_addr.s_addr) << 32,
                              .port = ntohs(name->v4.sin_port),
                              .family = 4};
    return (csys_address){.high = csys_load_64(name->v6.sin6_addr.s6_addr),
                          .low = csys_load_64(name->v6.sin6_addr.s6_addr + 8),
                          .scope = name->v6.sin6_scope_id,
                          .port = ntohs(name->v6.sin6_port),
                          .family = 6};
}

static int set(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof value) < 0 ? errno : 0;
}

/// The forced variant passes the system's limit and needs CAP_NET_ADMIN; without it we get what is allowed.
static void enlarge(int fd, int forced, int plain) {
    const int wanted = 4 << 20;
    if (set(fd, SOL_SOCKET, forced, wanted)) set(fd, SOL_SOCKET, plain, wanted);
}

/// What QUIC cannot do without. Fails only where the kernel is too old to matter.
static int configure_ipv4(int fd) {
    int error = set(fd, IPPROTO_IP, IP_PKTINFO, 1);
    if (!error) error = set(fd, IPPROTO_IP, IP_RECVTOS, 1);
    if (!error) error = set(fd, IPPROTO_IP, IP_RECVERR, 1);
    // PROBE: don't-fragment is set and the kernel's own path MTU ignored; path MTU discovery is QUIC's (RFC 9000 §14.3).
    if (!error) error = set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    return error;
}

static int configure_ipv6(int fd) {
    int error = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (!error) error = set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    if (!error) error = set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
    if (!error) error = set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
    if (!error) error = set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    if (!error) error = set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
    return error;
}

static void configure_offload(csys_udp *udp) {
    int value = 0;
    socklen_t length = sizeof value;
    // A kernel without UDP_SEGMENT ignores the control message and would send one fragmented giant: ask first.
    udp->counts.segments = !(udp->switches & CSYS_UDP_NO_SEGMENT) &&
                           getsockopt(udp->fd, IPPROTO_UDP, UDP_SEGMENT, &value, &length) == 0;
    udp->counts.coalesces =
        !(udp->switches & CSYS_UDP_NO_COALESCE) && set(udp->fd, IPPROTO_UDP, UDP_GRO, 1) == 0;
}

static int open_socket(csys_udp *udp, csys_address address) {
    udp->fd = socket(address.family == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (udp->fd < 0) return errno;
    int error = address.family == 4 ? configure_ipv4(udp->fd) : configure_ipv6(udp->fd);
    if (error) return error;
    enlarge(udp->fd, SO_RCVBUFFORCE, SO_RCVBUF);
    enlarge(udp->fd, SO_SNDBUFFORCE, SO_SNDBUF);
    configure_offload(udp);
    name name;
    socklen_t length = csys_name_from(address, &name);
    if (bind(udp->fd, &name.any, length) < 0) return errno;
    if (getsockname(udp->fd, &name.any, &length) < 0) return errno;
    udp->local = csys_name_to(&name);
    return 0;
}

static int allocate(csys_udp *udp) {
    udp->rx_bytes = aligned_alloc(4096, (size_t)CSYS_UDP_BATCH * SLOT_BYTES);
    udp->tx_bytes = aligned_alloc(4096, CSYS_UDP_ARENA);
    if (!udp->rx_bytes || !udp->tx_bytes) return ENOMEM;
    for (int i = 0; i < CSYS_UDP_BATCH; i++) {
        udp->rx_vector[i] = (struct iovec){udp->rx_bytes + (size_t)i * SLOT_BYTES, SLOT_BYTES};
        udp->rx[i].msg_hdr = (struct msghdr){
            .msg_name = &udp->rx_name[i], .msg_iov = &udp->rx_vector[i], .msg_iovlen = 1,
            .msg_control = &udp->rx_control[i]};
    }
    for (int i = 0; i < TX_MESSAGES; i++)
        udp->tx[i].msg_hdr = (struct msghdr){
            .msg_name = &udp->tx_name[i], .msg_iov = &udp->tx_vector[i], .msg_iovlen = 1,
            .msg_control = &udp->tx_control[i]};
    return 0;
}

csys_udp *csys_udp_open(csys_address address, uint32_t switches, int *error) {
    csys_udp *udp = calloc(1, sizeof *udp);
    if (!udp) {
        *error = ENOMEM;
        return NULL;
    }
    udp->fd = -1;
    udp->switches = switches;
    *error = open_socket(udp, address);
    if (!*error) *error = allocate(udp);
    if (!*error) return udp;
    csys_udp_free(udp);
    return NULL;
}

void csys_udp_free(csys_udp *udp) {
    if (udp->fd >= 0) close(udp->fd);
    free(udp->rx_bytes);
    free(udp->tx_bytes);
    free(udp);
}

int csys_udp_descriptor(const csys_udp *udp) { return udp->fd; }

csys_address csys_udp_local(const csys_udp *udp) { return udp->local; }

csys_udp_counts csys_udp_count(const csys_udp *udp) { return udp->counts; }
