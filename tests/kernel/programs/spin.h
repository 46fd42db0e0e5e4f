/* Code that takes CPU time. */
#include <stdint.h>
#include <time.h>

static volatile uint64_t sink;

/* Returns the CPU time of this thread in nanoseconds. */
static uint64_t cpu_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* Calculates for some CPU time. The clock is read rarely: its code may have no frame pointer. */
static inline __attribute__((always_inline)) void spin(uint64_t nanos) {
    uint64_t end = cpu_time() + nanos;
    do {
        for (int step = 0; step < 200000; step++) {
            sink = sink * 6364136223846793005u + 1442695040888963407u;
        }
    } while (cpu_time() < end);
}

void in_library(uint64_t nanos);
