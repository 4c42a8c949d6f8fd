// The floor of every echo: 64 bytes over plain UDP on loopback, two processes, blocking calls. Each has a processor of its own, as
// two machines would have: on one processor no answer waits for a sleeping thread to wake.
//   udp_pingpong COUNT        prints {"p50_us":…,"p99_us":…}
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 64, WARM_UP = 1000 };

static int bound(struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) < 0 ||
        getsockname(fd, (struct sockaddr *)address, &length) < 0) {
        perror("socket");
        exit(1);
    }
    return fd;
}

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// The `wanted`th of the processors that this process may use.
static void pin(int wanted) {
    cpu_set_t usable, one;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &usable) && wanted-- == 0) CPU_SET(cpu, &one);
    if (CPU_COUNT(&one) == 1) sched_setaffinity(0, sizeof one, &one);
}

static void serve(int fd) {
    char packet[SIZE];
    struct sockaddr_in from;
    for (;;) {
        socklen_t length = sizeof from;
        ssize_t size = recvfrom(fd, packet, sizeof packet, 0, (struct sockaddr *)&from, &length);
        if (size < 0 || sendto(fd, packet, (size_t)size, 0, (struct sockaddr *)&from, length) < 0) exit(1);
    }
}

int main(int count_of_arguments, char **arguments) {
    int count = count_of_arguments > 1 ? atoi(arguments[1]) : 0;
    if (count < 1) return fprintf(stderr, "usage: udp_pingpong COUNT\n"), 2;
    struct sockaddr_in server, client;
    int serving = bound(&server), asking = bound(&client);
    pid_t child = fork();
    pin(child == 0 ? 0 : 1);
    if (child == 0) serve(serving);
    double *times = calloc((size_t)count, sizeof *times);
    char packet[SIZE] = {0};
    for (int i = -WARM_UP; i < count; i++) {
        double start = microseconds();
        if (sendto(asking, packet, SIZE, 0, (struct sockaddr *)&server, sizeof server) < 0) return 1;
        if (recv(asking, packet, SIZE, 0) != SIZE) return 1;
        if (i >= 0) times[i] = microseconds() - start;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    qsort(times, (size_t)count, sizeof *times, ascending);
    printf("{\"p50_us\":%.2f,\"p99_us\":%.2f}\n", times[count / 2], times[(int)(count * 0.99)]);
    return 0;
}
