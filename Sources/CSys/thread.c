#define _GNU_SOURCE
#include "csys_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct start {
    void (*body)(void *);
    void *context;
    char name[16];
};

static void *run(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    pthread_setname_np(pthread_self(), start.name);
    start.body(start.context);
    return NULL;
}

/// Signals of the thread's own making stay deliverable: blocking them would hide a crash.
static void asynchronous_signals(sigset_t *set) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(set, own[i]);
}

int csys_thread_start(const char *name, void (*body)(void *), void *context) {
    struct start *start = calloc(1, sizeof *start);
    if (!start) return ENOMEM;
    start->body = body;
    start->context = context;
    strncpy(start->name, name, sizeof start->name - 1);

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigset_t blocked, before;
    asynchronous_signals(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, run, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error) free(start);
    return error;
}

uint64_t csys_thread_current(void) { return (uint64_t)pthread_self(); }

void csys_stdout_line_buffered(void) { setvbuf(stdout, NULL, _IOLBF, 0); }

int csys_processor_count(void) {
    cpu_set_t set;
    // More processors than the set can name: then certainly more than one.
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : CPU_SETSIZE;
}
