#define _GNU_SOURCE
#include "csys_clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t csys_boot_nanoseconds(void) { return nanoseconds(CLOCK_BOOTTIME); }

uint64_t csys_awake_nanoseconds(void) { return nanoseconds(CLOCK_MONOTONIC); }

int csys_boot_timer_create(void) {
    int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

void csys_boot_timer_arm(int fd, uint64_t nanoseconds) {
    struct itimerspec at = {.it_value = {.tv_sec = (time_t)(nanoseconds / 1000000000u),
                                         .tv_nsec = (long)(nanoseconds % 1000000000u)}};
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

void csys_boot_timer_clear(int fd) {
    uint64_t count;
    while (read(fd, &count, sizeof count) < 0 && errno == EINTR) {}
}

uint64_t csys_wall_milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}
