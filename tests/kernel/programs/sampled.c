/* A program with known shares of CPU time in its functions, which it prints: name and nanoseconds. */
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

static inline __attribute__((always_inline)) void inlined(uint64_t nanos) {
    spin(nanos);
}

__attribute__((noinline)) void direct(uint64_t nanos) {
    inlined(nanos);
    sink++;
}

__attribute__((noinline)) int recursive(int depth, uint64_t nanos) {
    if (depth == 0) {
        spin(nanos);
        return 0;
    }
    int below = recursive(depth - 1, nanos);
    /* The call is not the last one. */
    sink = below;
    return below + 1;
}

/* Returns a length between 0.5 and 1.5 of the mean, so that samples do not stay in step. */
static uint64_t varied(uint64_t mean) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return mean / 2 + (state >> 33) % mean;
}

int main(int argc, char **argv) {
    uint64_t total = strtoull(argc > 1 ? argv[1] : "", NULL, 10) * 1000000;
    uint64_t spent[3] = {0};
    for (uint64_t start = cpu_time(), before; (before = cpu_time()) - start < total;) {
        direct(varied(6000000));
        uint64_t first = cpu_time();
        recursive(5, varied(3000000));
        uint64_t second = cpu_time();
        in_library(varied(1000000));
        uint64_t last = cpu_time();
        spent[0] += first - before;
        spent[1] += second - first;
        spent[2] += last - second;
    }
    printf("direct %llu\nrecursive %llu\nin_library %llu\n", (unsigned long long)spent[0],
           (unsigned long long)spent[1], (unsigned long long)spent[2]);
    return 0;
}
