#define _GNU_SOURCE
#include "csys_clock.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

uint64_t csys_boot_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t csys_wall_milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

int csys_random(void *buffer, size_t count) {
    uint8_t *at = buffer;
    while (count > 0) {
        ssize_t n = getrandom(at, count, 0);
        if (n < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        at += n;
        count -= (size_t)n;
    }
    return 0;
}
