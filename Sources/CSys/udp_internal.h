#ifndef UDP_INTERNAL_H
#define UDP_INTERNAL_H

// The socket's memory, shared by the udp_*.c files. Include after defining _GNU_SOURCE.

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdalign.h>
#include <sys/socket.h>

#include "csys_udp.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
    /// What one coalesced message can hold.
    SLOT_BYTES = 65536,
    /// Messages that wait at most: eight full batches and small packets between them.
    TX_MESSAGES = 64,
    /// Kernels before 6.10 take at most 64 segments in one message.
    MAX_SEGMENTS = 64,
    /// Below 65,535 minus the largest IP and UDP headers.
    MAX_MESSAGE = 65000,
    /// PKTINFO, traffic class and one integer, with room to spare.
    CONTROL_BYTES = 128,
};

typedef union name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} name;

typedef struct control {
    alignas(struct cmsghdr) uint8_t bytes[CONTROL_BYTES];
} control;

/// One queued message. Its segment-size control message stands last, so that `plain_control` cuts it off.
typedef struct outgoing {
    uint32_t segment;
    /// Length of the control messages without the segment size.
    uint32_t plain_control;
    /// The kernel refused this one as a batch: its packets go one by one.
    int plain;
} outgoing;

struct csys_udp {
    int fd;
    uint32_t switches;
    csys_address local;
    csys_udp_counts counts;

    struct mmsghdr rx[CSYS_UDP_BATCH];
    struct iovec rx_vector[CSYS_UDP_BATCH];
    name rx_name[CSYS_UDP_BATCH];
    control rx_control[CSYS_UDP_BATCH];
    uint8_t *rx_bytes;

    /// Messages first..<count wait for the kernel.
    int tx_first, tx_count;
    size_t tx_used;
    struct mmsghdr tx[TX_MESSAGES];
    struct iovec tx_vector[TX_MESSAGES];
    name tx_name[TX_MESSAGES];
    control tx_control[TX_MESSAGES];
    outgoing tx_info[TX_MESSAGES];
    uint8_t *tx_bytes;
};

socklen_t csys_name_from(csys_address address, name *name);
csys_address csys_name_to(const name *name);

static inline uint64_t csys_load_64(const uint8_t *bytes) {
    uint64_t value;
    __builtin_memcpy(&value, bytes, 8);
    return __builtin_bswap64(value);
}

static inline void csys_store_64(uint8_t *bytes, uint64_t value) {
    value = __builtin_bswap64(value);
    __builtin_memcpy(bytes, &value, 8);
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "address bytes are swapped without asking: little-endian machines only"
#endif

#endif
