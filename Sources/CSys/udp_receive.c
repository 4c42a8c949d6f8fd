#define _GNU_SOURCE
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <time.h>

#include <linux/errqueue.h>  // after time.h, which it forgets

#include "udp_internal.h"

/// With IP_RECVERR an ICMP error is also reported once by the next call on the socket, whatever that call was for.
static int is_pending_icmp(int error) {
    return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN ||
           error == ENONET || error == EPROTO || error == EMSGSIZE || error == EOPNOTSUPP || error == ENOPROTOOPT ||
           error == EACCES;
}

static void read_control(struct msghdr *message, csys_received *out) {
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        const uint8_t *data = CMSG_DATA(c);
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            // The address to answer from; it differs from the header's only for multicast.
            const struct in_pktinfo *info = (const void *)data;
            out->to.high = (uint64_t)ntohl(info->ipi_spec_dst.s_addr) << 32;
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            const struct in6_pktinfo *info = (const void *)data;
            out->to.high = csys_load_64(info->ipi6_addr.s6_addr);
            out->to.low = csys_load_64(info->ipi6_addr.s6_addr + 8);
            int link_local = info->ipi6_addr.s6_addr[0] == 0xfe && (info->ipi6_addr.s6_addr[1] & 0xc0) == 0x80;
            out->to.scope = link_local ? (uint32_t)info->ipi6_ifindex : 0;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            out->ecn = data[0] & 3;
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            int class;
            memcpy(&class, data, sizeof class);
            out->ecn = class & 3;
        } else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            int segment;
            memcpy(&segment, data, sizeof segment);
            if (segment > 0) out->segment = (uint32_t)segment;
        }
    }
}

static int receive_batch(csys_udp *udp) {
    for (int i = 0; i < CSYS_UDP_BATCH; i++) {
        udp->rx[i].msg_hdr.msg_namelen = sizeof(name);
        udp->rx[i].msg_hdr.msg_controllen = CONTROL_BYTES;
    }
    // One ICMP report per packet we sent may be pending; the second try meets the queue itself.
    for (int tries = 0; tries < 4; tries++) {
        int n = recvmmsg(udp->fd, udp->rx, CSYS_UDP_BATCH, MSG_DONTWAIT, NULL);
        if (n >= 0) return n;
        if (errno != EINTR && !is_pending_icmp(errno)) return errno == EAGAIN ? 0 : -errno;
    }
    return 0;
}

int csys_udp_receive(csys_udp *udp, csys_received *out) {
    int n = receive_batch(udp);
    if (n <= 0) return n;
    udp->counts.receive_calls++;
    int filled = 0;
    for (int i = 0; i < n; i++) {
        if (udp->rx[i].msg_len == 0) continue;
        csys_received *received = &out[filled++];
        *received = (csys_received){.bytes = udp->rx_vector[i].iov_base,
                                    .count = udp->rx[i].msg_len,
                                    .segment = udp->rx[i].msg_len,
                                    .from = csys_name_to(&udp->rx_name[i]),
                                    .to = udp->local};
        read_control(&udp->rx[i].msg_hdr, received);
        if (received->segment > received->count) received->segment = received->count;
    }
    return filled;
}

/// True for "no way to this destination"; false for "packet too big", which path MTU discovery finds out by itself.
static int says_unreachable(const struct msghdr *message) {
    struct msghdr *m = (struct msghdr *)message;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        const struct sock_extended_err *e = (const void *)CMSG_DATA(c);
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR)
            return e->ee_origin == SO_EE_ORIGIN_ICMP && e->ee_type == ICMP_DEST_UNREACH &&
                   e->ee_code != ICMP_FRAG_NEEDED;
        if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)
            return e->ee_origin == SO_EE_ORIGIN_ICMP6 && e->ee_type == ICMP6_DST_UNREACH;
    }
    return 0;
}

int csys_udp_next_unreachable(csys_udp *udp, csys_address *to) {
    // A flood of forged errors must not hold the loop: 64 a call, the rest waits for the next turn.
    for (int tries = 0; tries < 64; tries++) {
        name name;
        uint8_t quoted[64];
        union {
            struct cmsghdr align;
            uint8_t bytes[512];
        } control;
        struct iovec vector = {quoted, sizeof quoted};
        struct msghdr message = {.msg_name = &name, .msg_namelen = sizeof name, .msg_iov = &vector, .msg_iovlen = 1,
                                 .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
        if (recvmsg(udp->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            if (errno == EINTR) continue;
            int pending;
            socklen_t length = sizeof pending;
            getsockopt(udp->fd, SOL_SOCKET, SO_ERROR, &pending, &length);  // or epoll reports it for ever
            return 0;
        }
        if (message.msg_namelen >= sizeof name.v4 && says_unreachable(&message)) {
            *to = csys_name_to(&name);
            return 1;
        }
    }
    return 0;
}
