/* The same trace points with this project's library for C and with LTTng-UST.
 *
 *     compare cost          prints the CPU time of a trace point, as Markdown
 *     compare killed COUNT  records COUNT scopes with LTTng, and kills itself */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <trace.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tracepoints.h"

/* Makes the compiler assume that the value is used. */
#define USE(value) __asm__ volatile("" : : "r"(value) : "memory")

enum { ROUNDS = 32, COUNT = 20000 };

typedef void loop(uint64_t count);

static void clock_read(uint64_t count) {
    for (uint64_t round = 0; round < count; round++) USE(__rdtsc());
}

static void scope(uint64_t count) {
    for (uint64_t round = 0; round < count; round++) {
        TRACE_DURATION("bench", "scope");
        USE(round);
    }
}

static void scope_with_arguments(uint64_t count) {
    const char *text = "short";
    USE(&text);
    for (uint64_t round = 0; round < count; round++) {
        TRACE_DURATION("bench", "scope", "number", (int64_t)round, "text", text);
        USE(round);
    }
}

static void instant(uint64_t count) {
    for (uint64_t round = 0; round < count; round++) TRACE_INSTANT("bench", "instant", TRACE_SCOPE_THREAD);
}

static void lttng_scope(uint64_t count) {
    for (uint64_t round = 0; round < count; round++) {
        lttng_ust_tracepoint(bench, begin);
        USE(round);
        lttng_ust_tracepoint(bench, end);
    }
}

static void lttng_scope_with_arguments(uint64_t count) {
    const char *text = "short";
    USE(&text);
    for (uint64_t round = 0; round < count; round++) {
        lttng_ust_tracepoint(bench, begin_with_arguments, (int64_t)round, text);
        USE(round);
        lttng_ust_tracepoint(bench, end);
    }
}

static void lttng_instant(uint64_t count) {
    for (uint64_t round = 0; round < count; round++) lttng_ust_tracepoint(bench, instant);
}

static struct {
    const char *name;
    loop *run;
    double reads; /* clock reads of one trace point */
    double minimum;
} rows[] = {
    {"clock read", clock_read, 1, 1e9},
    {"scope", scope, 2, 1e9},
    {"scope, i64 and a short text", scope_with_arguments, 2, 1e9},
    {"instant", instant, 1, 1e9},
    {"LTTng: scope", lttng_scope, 2, 1e9},
    {"LTTng: scope, i64 and a short text", lttng_scope_with_arguments, 2, 1e9},
    {"LTTng: instant", lttng_instant, 1, 1e9},
};

enum { ROWS = sizeof rows / sizeof *rows };

static double thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

/* All loops in turn, so that load on the machine affects them alike. */
static void measure(void) {
    for (int round = 0; round < ROUNDS; round++) {
        for (int row = 0; row < ROWS; row++) {
            double begin = thread_ns();
            rows[row].run(COUNT);
            double each = (thread_ns() - begin) / COUNT;
            if (each < rows[row].minimum) rows[row].minimum = each;
            usleep(20000); /* both tracers empty their buffers */
        }
    }
}

static void report(void) {
    double read = rows[0].minimum;
    printf("| trace point | minimum, ns | ratio to its clock reads |\n|---|---|---|\n");
    for (int row = 0; row < ROWS; row++)
        printf("| %s | %.1f | %.2f × |\n", rows[row].name, rows[row].minimum,
               rows[row].minimum / (rows[row].reads * read));
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "killed") == 0) {
        lttng_scope(strtoull(argv[2], NULL, 10));
        raise(SIGKILL);
    }
    if (argc != 2 || strcmp(argv[1], "cost") != 0) {
        fprintf(stderr, "usage: compare cost | compare killed COUNT\n");
        return 2;
    }
    trace_init();
    measure();
    report();
    return 0;
}
