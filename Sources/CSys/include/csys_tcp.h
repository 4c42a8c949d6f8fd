#ifndef CSYS_TCP_H
#define CSYS_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csys_udp.h"

/// TCP sockets, non-blocking, closed on exec, without Nagle's delay. Results are a descriptor or count, or minus an errno
/// value.

enum {
    /// Bytes that the kernel should hold unsent at most until the line is known: what is written later (a pong) waits behind
    /// them. 16 KiB is one largest TLS record, or ten full packets.
    CSYS_TCP_UNSENT = 16384,
    /// Connections that wait in the kernel to be accepted; the kernel's own limit is usually lower.
    CSYS_TCP_BACKLOG = 1024,
};

/// Binds `address` and listens. An IPv6 socket takes no IPv4.
int csys_tcp_listen(csys_address address);

/// The next connection, with who it came from; EAGAIN when none waits.
int csys_tcp_accept(int fd, csys_address *peer);

/// Begins to connect: the descriptor becomes writable when that has ended, one way or the other.
int csys_tcp_connect(csys_address address);

/// How the connecting ended: 0, or an errno value.
int csys_tcp_error(int fd);

/// Where the socket is bound, and who is at the other end; 0, or an errno value.
int csys_tcp_local(int fd, csys_address *local);

/// How many bytes of what was written have not been sent even once.
int64_t csys_tcp_unsent(int fd);

/// The newest rate at which the peer acknowledged data, in bytes per second; 0 when there is none yet.
int64_t csys_tcp_delivery_rate(int fd);

/// The socket becomes writable when fewer bytes than this are unsent; 0, or an errno value. It holds back no write that adds
/// to a segment which waits already: such a one grows to 64 KiB.
int csys_tcp_wake_below(int fd, int bytes);

/// Bounds what has come in and was not read; the sender waits with the rest. Where the kernel refuses it holds what it likes.
void csys_tcp_limit_unread(int fd, int bytes);

/// Has the next `close` reset the connection instead of handing over what is queued.
void csys_tcp_abort_on_close(int fd);

/// Asks the system's resolver; blocks for as long as that takes. Returns how many of `room` addresses were filled in, in the
/// order they should be tried, or minus a code for `csys_resolve_reason`.
int csys_resolve(const char *host, uint16_t port, csys_address *out, int room);
const char *csys_resolve_reason(int code);
/// The code means that the name has no address, and not that nobody could be asked.
bool csys_resolve_says_none(int code);

#endif
