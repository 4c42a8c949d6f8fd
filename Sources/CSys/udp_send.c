#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "udp_internal.h"

static uint32_t packets(const csys_udp *udp, int index) {
    size_t bytes = udp->tx_vector[index].iov_len, segment = udp->tx_info[index].segment;
    return (uint32_t)((bytes + segment - 1) / segment);
}

static void forget_queue(csys_udp *udp) {
    udp->tx_first = udp->tx_count = 0;
    udp->tx_used = 0;
}

static void drop_queue(csys_udp *udp) {
    for (int i = udp->tx_first; i < udp->tx_count; i++) udp->counts.packets_dropped += packets(udp, i);
    forget_queue(udp);
}

uint8_t *csys_udp_reserve(csys_udp *udp, size_t count) {
    // A commit makes at most two messages: it has at most MAX_SEGMENTS packets, and 65,535 bytes are less than twice
    // MAX_MESSAGE.
    int full = udp->tx_used + count > CSYS_UDP_ARENA || udp->tx_count + 2 > TX_MESSAGES;
    if (full && csys_udp_flush(udp)) drop_queue(udp);
    return udp->tx_bytes + udp->tx_used;
}

// MARK: - Queueing

static uint8_t *add_control(struct msghdr *message, int level, int type, size_t count) {
    struct cmsghdr *c = (struct cmsghdr *)((uint8_t *)message->msg_control + message->msg_controllen);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(count);
    message->msg_controllen += CMSG_SPACE(count);
    return memset(CMSG_DATA(c), 0, count);
}

static void add_source(struct msghdr *message, csys_address from) {
    if (from.family == 4) {
        struct in_pktinfo *info = (void *)add_control(message, IPPROTO_IP, IP_PKTINFO, sizeof *info);
        info->ipi_spec_dst.s_addr = htonl((uint32_t)(from.high >> 32));
    } else if (from.family == 6) {
        struct in6_pktinfo *info = (void *)add_control(message, IPPROTO_IPV6, IPV6_PKTINFO, sizeof *info);
        csys_store_64(info->ipi6_addr.s6_addr, from.high);
        csys_store_64(info->ipi6_addr.s6_addr + 8, from.low);
        info->ipi6_ifindex = from.scope;
    }
}

static void add_ecn(struct msghdr *message, uint8_t family, uint8_t ecn) {
    int class = ecn;
    if (ecn == 0) return;
    uint8_t *data = family == 4 ? add_control(message, IPPROTO_IP, IP_TOS, sizeof class)
                                : add_control(message, IPPROTO_IPV6, IPV6_TCLASS, sizeof class);
    memcpy(data, &class, sizeof class);
}

static void queue(csys_udp *udp, uint8_t *bytes, size_t count, size_t segment, csys_address to, csys_address from,
                  uint8_t ecn) {
    int index = udp->tx_count++;
    struct msghdr *message = &udp->tx[index].msg_hdr;
    udp->tx_vector[index] = (struct iovec){bytes, count};
    message->msg_namelen = csys_name_from(to, &udp->tx_name[index]);
    message->msg_control = &udp->tx_control[index];
    message->msg_controllen = 0;
    add_source(message, from);
    add_ecn(message, to.family, ecn);
    udp->tx_info[index] = (outgoing){.segment = (uint32_t)segment,
                                     .plain_control = (uint32_t)message->msg_controllen};
    if (count > segment) {
        uint16_t size = (uint16_t)segment;
        memcpy(add_control(message, IPPROTO_UDP, UDP_SEGMENT, sizeof size), &size, sizeof size);
    }
    if (message->msg_controllen == 0) message->msg_control = NULL;
}

void csys_udp_commit(csys_udp *udp, size_t count, size_t segment, csys_address to, csys_address from, uint8_t ecn) {
    if (count == 0 || segment == 0) return;
    if (segment > count) segment = count;
    size_t most = segment * (segment * MAX_SEGMENTS <= MAX_MESSAGE ? MAX_SEGMENTS : MAX_MESSAGE / segment);
    if (most == 0) most = count;  // a single giant: the kernel will say EMSGSIZE
    uint8_t *bytes = udp->tx_bytes + udp->tx_used;
    udp->tx_used += (count + 63) & ~(size_t)63;  // the next batch starts on its own cache line
    while (count > 0 && udp->tx_count < TX_MESSAGES) {
        size_t part = count < most ? count : most;
        queue(udp, bytes, part, segment, to, from, ecn);
        bytes += part;
        count -= part;
    }
}

// MARK: - Sending

/// Sends the packets of message `index` one by one. 0 when all were handed over or given up, 1 when there is no room.
static int send_plain(csys_udp *udp, int index) {
    struct mmsghdr single[MAX_SEGMENTS];
    struct iovec vector[MAX_SEGMENTS];
    struct iovec *rest = &udp->tx_vector[index];
    struct msghdr *message = &udp->tx[index].msg_hdr;
    int skipped_report = 0;
    // For good: when its last packet has to wait for room, the message must not look like a batch of one.
    message->msg_controllen = udp->tx_info[index].plain_control;
    if (message->msg_controllen == 0) message->msg_control = NULL;
    while (rest->iov_len > 0) {
        size_t segment = udp->tx_info[index].segment;
        unsigned n = 0;
        for (size_t at = 0; at < rest->iov_len && n < MAX_SEGMENTS; at += segment, n++) {
            size_t left = rest->iov_len - at;
            vector[n] = (struct iovec){(uint8_t *)rest->iov_base + at, left < segment ? left : segment};
            single[n].msg_hdr = *message;
            single[n].msg_hdr.msg_iov = &vector[n];
        }
        int sent = sendmmsg(udp->fd, single, n, MSG_DONTWAIT);
        if (sent < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN) return 1;
            if (!skipped_report++) continue;  // it may have been an old ICMP report, not this packet
            udp->counts.packets_dropped++;
            sent = 1;
        } else {
            udp->counts.packets_sent += (unsigned)sent;
            udp->counts.send_calls++;
        }
        for (int i = 0; i < sent; i++) {
            rest->iov_base = (uint8_t *)rest->iov_base + vector[i].iov_len;
            rest->iov_len -= vector[i].iov_len;
        }
    }
    return 0;
}

static int is_batch(const csys_udp *udp, int index) {
    return udp->tx_vector[index].iov_len > udp->tx_info[index].segment;
}

static int goes_plain(const csys_udp *udp, int index) {
    return is_batch(udp, index) && (!udp->counts.segments || udp->tx_info[index].plain);
}

/// How many messages from `first` on go to the kernel as they are.
static int run_length(const csys_udp *udp) {
    int end = udp->tx_first;
    while (end < udp->tx_count && !goes_plain(udp, end)) end++;
    return end - udp->tx_first;
}

static int send_run(csys_udp *udp, int length) {
    if (udp->switches & CSYS_UDP_SEGMENT_EIO)
        for (int i = 0; i < length; i++)
            if (is_batch(udp, udp->tx_first + i)) {
                length = i;
                break;
            }
    if (length > 0) return sendmmsg(udp->fd, &udp->tx[udp->tx_first], (unsigned)length, MSG_DONTWAIT);
    errno = EIO;
    return -1;
}

/// Decides what an error of the first waiting message means. `again` counts the errors it has met.
static void settle_error(csys_udp *udp, int error, int *again) {
    int batch = is_batch(udp, udp->tx_first);
    if (batch && error == EIO) {
        udp->counts.segments = 0;  // the card cannot checksum: no batch will ever pass
    } else if (batch && (error == EINVAL || error == EMSGSIZE)) {
        udp->tx_info[udp->tx_first].plain = 1;  // packets larger than the interface takes; each finds out by itself
    } else if (!(*again)++) {
        // An ICMP report of an earlier packet comes back from whatever is called next: try once more.
    } else {
        udp->counts.packets_dropped += packets(udp, udp->tx_first++);
        *again = 0;
    }
}

int csys_udp_flush(csys_udp *udp) {
    if (udp->switches & CSYS_UDP_BLOCKED) return udp->tx_first < udp->tx_count;
    int again = 0;
    while (udp->tx_first < udp->tx_count) {
        int length = run_length(udp);
        if (length == 0) {
            if (send_plain(udp, udp->tx_first)) return 1;
            udp->tx_first++;
            continue;
        }
        int sent = send_run(udp, length);
        if (sent > 0) {
            for (int i = 0; i < sent; i++) udp->counts.packets_sent += packets(udp, udp->tx_first + i);
            udp->counts.send_calls++;
            udp->tx_first += sent;
            again = 0;
        } else if (errno == EAGAIN) {
            return 1;
        } else if (errno != EINTR) {
            settle_error(udp, errno, &again);
        }
    }
    forget_queue(udp);
    return 0;
}

void csys_udp_unblock(csys_udp *udp) { udp->switches &= ~(uint32_t)CSYS_UDP_BLOCKED; }
