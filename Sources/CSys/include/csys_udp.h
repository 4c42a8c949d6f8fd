#ifndef CSYS_UDP_H
#define CSYS_UDP_H

#include <stddef.h>
#include <stdint.h>

/// An IP address and port. IPv4 keeps its four bytes in the top of `high`; both words are most significant byte first.
typedef struct csys_address {
    uint64_t high;
    uint64_t low;
    uint32_t scope;
    uint16_t port;
    /// 4 or 6; 0 where an address is optional and absent.
    uint8_t family;
} csys_address;

/// Packets that came in one message: `segment` bytes each, the last one may be shorter.
typedef struct csys_received {
    const uint8_t *bytes;
    uint32_t count;
    uint32_t segment;
    csys_address from;
    /// The local address it was sent to, with the socket's port.
    csys_address to;
    uint8_t ecn;
} csys_received;

/// A UDP socket with its buffers: batched, with segmentation offload where the kernel has it. One thread at a time.
typedef struct csys_udp csys_udp;

/// Test switches: each one takes something away that a kernel or network card may lack.
enum {
    /// As on kernels before 4.18.
    CSYS_UDP_NO_SEGMENT = 1,
    /// As on kernels before 5.0.
    CSYS_UDP_NO_COALESCE = 2,
    /// As on a card without checksum offload: the first batch of several packets fails with EIO.
    CSYS_UDP_SEGMENT_EIO = 4,
    /// The kernel takes nothing, as with a full queue, until `csys_udp_unblock`.
    CSYS_UDP_BLOCKED = 8,
};

enum {
    /// Most messages one `csys_udp_receive` returns: 16 of up to 64 KiB are about 1 MiB, under a millisecond of work.
    CSYS_UDP_BATCH = 16,
    /// Bytes that wait for the kernel at most: eight full-size batches of packets.
    CSYS_UDP_ARENA = 8 * 65536,
};

/// Binds `address` (non-blocking, IPv6 sockets take no IPv4, don't-fragment, buffers of 4 MiB where allowed). NULL and
/// an errno value in `error` when that fails.
csys_udp *csys_udp_open(csys_address address, uint32_t switches, int *error);
void csys_udp_free(csys_udp *udp);

int csys_udp_descriptor(const csys_udp *udp);
csys_address csys_udp_local(const csys_udp *udp);

/// Fills at most CSYS_UDP_BATCH entries, valid until the next call; minus an errno value when the kernel could not (it had
/// no memory: what waits is reported again).
/// Empty datagrams are skipped, so 0 does not say that nothing waits.
int csys_udp_receive(csys_udp *udp, csys_received *out);

/// The next destination that the kernel reports as unreachable (an ICMP error, which anyone can forge). 1 when `to`
/// was filled, 0 when no more wait.
int csys_udp_next_unreachable(csys_udp *udp, csys_address *to);

/// Room for `count` bytes, at most 65,535, valid until the next call. Flushes when the arena is full; when even that
/// does not help, everything that waits is dropped and counted.
uint8_t *csys_udp_reserve(csys_udp *udp, size_t count);

/// Queues the first `count` reserved bytes as packets of `segment` bytes, at most 64.
///
/// `from` is the local address to leave from; family 0 lets the kernel choose.
void csys_udp_commit(csys_udp *udp, size_t count, size_t segment, csys_address to, csys_address from, uint8_t ecn);

/// Hands what is queued to the kernel. 1 when the kernel has no room: call again when the socket is writable.
int csys_udp_flush(csys_udp *udp);

/// Test switch: ends CSYS_UDP_BLOCKED.
void csys_udp_unblock(csys_udp *udp);

/// What the socket has done, for tests and gauges.
typedef struct csys_udp_counts {
    uint64_t packets_sent;
    uint64_t packets_dropped;
    /// System calls that moved at least one packet.
    uint64_t send_calls;
    uint64_t receive_calls;
    /// 1 while batches leave as one message each.
    uint8_t segments;
    /// 1 when the kernel may coalesce what it receives.
    uint8_t coalesces;
} csys_udp_counts;
csys_udp_counts csys_udp_count(const csys_udp *udp);

#endif
