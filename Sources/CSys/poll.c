#define _GNU_SOURCE
#include "csys_poll.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { MAX_EVENTS = 64 };

/// Set by the first refusal: epoll_wait only from then on.
static _Atomic int lacks_pwait2;

int csys_poll_create(void) {
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static uint32_t to_epoll(uint32_t interest) {
    return (interest & CSYS_READABLE ? EPOLLIN : 0u) | (interest & CSYS_WRITABLE ? EPOLLOUT : 0u);
}

static uint32_t from_epoll(uint32_t events) {
    return (events & EPOLLIN ? CSYS_READABLE : 0u) | (events & EPOLLOUT ? CSYS_WRITABLE : 0u) |
           (events & EPOLLERR ? CSYS_FAILED : 0u) | (events & EPOLLHUP ? CSYS_HUNG_UP : 0u);
}

static int control(int poll, int operation, int fd, uint32_t interest, uint64_t token) {
    struct epoll_event event = {.events = to_epoll(interest), .data.u64 = token};
    return epoll_ctl(poll, operation, fd, &event) < 0 ? errno : 0;
}

int csys_poll_add(int poll, int fd, uint32_t interest, uint64_t token) {
    return control(poll, EPOLL_CTL_ADD, fd, interest, token);
}

int csys_poll_change(int poll, int fd, uint32_t interest, uint64_t token) {
    return control(poll, EPOLL_CTL_MOD, fd, interest, token);
}

int csys_poll_remove(int poll, int fd) { return control(poll, EPOLL_CTL_DEL, fd, 0, 0); }

static int wait_milliseconds(int poll, struct epoll_event *ready, int capacity, int64_t timeout) {
    if (timeout <= 0) return epoll_wait(poll, ready, capacity, timeout < 0 ? -1 : 0);
    int64_t milliseconds = timeout / 1000000 + (timeout % 1000000 != 0);
    return epoll_wait(poll, ready, capacity, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
}

static int wait_any(int poll, struct epoll_event *ready, int capacity, int64_t timeout, int milliseconds_only) {
    if (milliseconds_only || atomic_load_explicit(&lacks_pwait2, memory_order_relaxed))
        return wait_milliseconds(poll, ready, capacity, timeout);
    struct timespec time = {.tv_sec = timeout / 1000000000, .tv_nsec = timeout % 1000000000};
    int n = epoll_pwait2(poll, ready, capacity, timeout < 0 ? NULL : &time, NULL);
    // ENOSYS: kernel before 5.11 or valgrind. EPERM: a container's system-call filter from before it existed.
    if (n >= 0 || (errno != ENOSYS && errno != EPERM)) return n;
    atomic_store(&lacks_pwait2, 1);
    return wait_milliseconds(poll, ready, capacity, timeout);
}

int csys_poll_wait(int poll, csys_event *events, int capacity, int64_t timeout, int milliseconds_only) {
    struct epoll_event ready[MAX_EVENTS];
    int n = wait_any(poll, ready, capacity < MAX_EVENTS ? capacity : MAX_EVENTS, timeout, milliseconds_only);
    if (n < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < n; i++) {
        events[i].token = ready[i].data.u64;
        events[i].ready = from_epoll(ready[i].events);
    }
    return n;
}

int csys_wake_create(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

void csys_wake_signal(int fd) {
    uint64_t one = 1;
    // EAGAIN means that the counter is full, so the loop wakes anyway; only EINTR leaves something to do.
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {}
}

void csys_wake_clear(int fd) {
    uint64_t count;
    while (read(fd, &count, sizeof count) < 0 && errno == EINTR) {}
}

void csys_close(int fd) { close(fd); }
