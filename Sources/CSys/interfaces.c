#define _GNU_SOURCE
#include "csys_interfaces.h"

#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "udp_internal.h"

static uint8_t prefix_length(const struct sockaddr *mask) {
    if (!mask) return 0;
    const uint8_t *bytes = mask->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)mask)->sin_addr
                                                      : (const void *)&((const struct sockaddr_in6 *)mask)->sin6_addr;
    uint8_t bits = 0;
    for (int i = 0; i < (mask->sa_family == AF_INET ? 4 : 16); i++) bits += (uint8_t)__builtin_popcount(bytes[i]);
    return bits;
}

// A port that is a device, or stands on one (bonds, VLANs). The ends of containers and virtual machines are neither.
static int leads_outside(const char *port) {
    char path[96];
    snprintf(path, sizeof path, "/sys/class/net/%.15s/device", port);
    if (access(path, F_OK) == 0) return 1;
    snprintf(path, sizeof path, "/sys/class/net/%.15s", port);
    DIR *entries = opendir(path);
    if (!entries) return 0;
    int found = 0;
    for (struct dirent *e; !found && (e = readdir(entries));) found = strncmp(e->d_name, "lower_", 6) == 0;
    closedir(entries);
    return found;
}

// A bridge with a way out carries the machine's own address and is no matter of containers.
static int is_bridge(const char *interface) {
    char path[96];
    snprintf(path, sizeof path, "/sys/class/net/%.15s/bridge", interface);
    if (access(path, F_OK) != 0) return 0;
    snprintf(path, sizeof path, "/sys/class/net/%.15s/brif", interface);
    DIR *ports = opendir(path);
    if (!ports) return 1;
    int outside = 0;
    for (struct dirent *e; !outside && (e = readdir(ports));) outside = e->d_name[0] != '.' && leads_outside(e->d_name);
    closedir(ports);
    return !outside;
}

static csys_interface describe(const struct ifaddrs *a) {
    name name;
    memcpy(&name, a->ifa_addr, a->ifa_addr->sa_family == AF_INET ? sizeof name.v4 : sizeof name.v6);
    csys_interface result = {.index = if_nametoindex(a->ifa_name),
                             .address = csys_name_to(&name),
                             .prefix_length = prefix_length(a->ifa_netmask),
                             .is_up = (a->ifa_flags & IFF_UP) && (a->ifa_flags & IFF_RUNNING),
                             .is_loopback = !!(a->ifa_flags & IFF_LOOPBACK),
                             .is_point_to_point = !!(a->ifa_flags & IFF_POINTOPOINT),
                             .is_bridge = (uint8_t)is_bridge(a->ifa_name)};
    snprintf(result.name, sizeof result.name, "%.15s", a->ifa_name);
    return result;
}

int csys_interfaces(csys_interface *out, int capacity) {
    struct ifaddrs *list;
    if (getifaddrs(&list) < 0) return -errno;
    int count = 0;
    for (const struct ifaddrs *a = list; a && count < capacity; a = a->ifa_next)
        if (a->ifa_addr && (a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6))
            out[count++] = describe(a);
    freeifaddrs(list);
    return count;
}

int csys_outward_address(int family, csys_address *out) {
    // Addresses of documentation (RFC 5737, RFC 3849): connecting a UDP socket only asks the routing table.
    name remote = {0};
    socklen_t length;
    if (family == 4) {
        remote.v4 = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc0000201)};
        length = sizeof remote.v4;
    } else {
        remote.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(9)};
        memcpy(&remote.v6.sin6_addr, (const uint8_t[]){0x20, 0x01, 0x0d, 0xb8}, 4);
        length = sizeof remote.v6;
    }
    int fd = socket(remote.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return 0;
    name local = {0};
    int found = connect(fd, &remote.any, length) == 0 && getsockname(fd, &local.any, &length) == 0;
    close(fd);
    if (!found) return 0;
    *out = csys_name_to(&local);
    out->port = 0;
    return 1;
}

int csys_network_changes_open(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0) return -errno;
    struct sockaddr_nl name = {.nl_family = AF_NETLINK,
                               .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
                                            RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE};
    if (bind(fd, (const struct sockaddr *)&name, sizeof name) == 0) return fd;
    int error = errno;
    close(fd);
    return -error;
}

int csys_network_changes_read(int fd) {
    char buffer[8192];
    int changed = 0;
    // Bounded: a machine that brings up a thousand interfaces does not hold the loop.
    for (int i = 0; i < 64; i++) {
        ssize_t n = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
        // ENOBUFS: the queue overflowed, so something has changed, more than we could be told.
        if (n >= 0 || errno == ENOBUFS) changed = 1;
        else if (errno != EINTR) break;
    }
    return changed;
}
