#ifndef CSYS_INTERFACES_H
#define CSYS_INTERFACES_H

#include <stdint.h>

#include "csys_udp.h"

typedef struct csys_interface {
    char name[16];
    uint32_t index;
    /// Port 0; a link-local address has its scope.
    csys_address address;
    uint8_t prefix_length;
    uint8_t is_up;
    uint8_t is_loopback;
    uint8_t is_point_to_point;
    /// It joins other interfaces of this machine: a container or virtual machine bridge.
    uint8_t is_bridge;
} csys_interface;

/// Fills `out` with the addresses of this machine, at most `capacity`; how many, or minus an errno value.
int csys_interfaces(csys_interface *out, int capacity);

/// The address of ours that packets to the outside of `family` (4 or 6) leave from, without sending one. 1 when there is one.
int csys_outward_address(int family, csys_address *out);

/// A netlink socket that becomes readable when an address, a link or a route changes; or minus an errno value.
int csys_network_changes_open(void);
/// Empties it. 1 when something had changed.
int csys_network_changes_read(int fd);

#endif
