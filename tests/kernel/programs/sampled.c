/* A program with known shares of CPU time in its functions, which it prints: name and nanoseconds.
 *
 *     sampled MILLISECONDS [DIRECTORY]
 *
 * With a directory, it also runs code without a file, and writes its name to perf-PID.map there, as
 * just-in-time compilers do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

typedef uint64_t code(uint64_t state, uint64_t steps);

enum { CODE_BYTES = 256 };

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

/* A function whose code works at each address. It has a frame, unlike other functions without calls. */
__attribute__((noinline, used)) uint64_t template(uint64_t state, uint64_t steps) {
    state += __builtin_frame_address(0) == NULL;
    while (steps-- > 0) {
        state = state * 6364136223846793005u + 1442695040888963407u;
    }
    return state;
}

/* Copies the function to memory without a file, and writes its name to the map. */
static code *compile(const char *directory) {
    void *memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    memcpy(memory, (const void *)(uintptr_t)template, CODE_BYTES);
    __builtin___clear_cache((char *)memory, (char *)memory + CODE_BYTES);
    char path[4096];
    snprintf(path, sizeof path, "%s/perf-%d.map", directory, (int)getpid());
    FILE *map = fopen(path, "w");
    if (map == NULL || fprintf(map, "%lx %x jitted\n", (unsigned long)memory, CODE_BYTES) < 0 ||
        fclose(map) != 0) {
        perror(path);
        exit(1);
    }
    return (code *)(uintptr_t)memory;
}

__attribute__((noinline)) void in_jit(code *jitted, uint64_t nanos) {
    uint64_t end = cpu_time() + nanos;
    do {
        sink = jitted(sink, 200000);
    } while (cpu_time() < end);
}

/* Returns a length between 0.5 and 1.5 of the mean, so that samples do not stay in step. */
static uint64_t varied(uint64_t mean) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return mean / 2 + (state >> 33) % mean;
}

int main(int argc, char **argv) {
    uint64_t total = strtoull(argc > 1 ? argv[1] : "", NULL, 10) * 1000000;
    code *jitted = argc > 2 ? compile(argv[2]) : NULL;
    const char *names[] = {"direct", "recursive", "in_library", "in_jit"};
    int parts = jitted != NULL ? 4 : 3;
    uint64_t spent[4] = {0};
    for (uint64_t start = cpu_time(), before; (before = cpu_time()) - start < total;) {
        for (int part = 0; part < parts; part++) {
            switch (part) {
            case 0: direct(varied(6000000)); break;
            case 1: recursive(5, varied(3000000)); break;
            case 2: in_library(varied(1000000)); break;
            case 3: in_jit(jitted, varied(2000000)); break;
            }
            uint64_t now = cpu_time();
            spent[part] += now - before;
            before = now;
        }
    }
    for (int part = 0; part < parts; part++) {
        printf("%s %llu\n", names[part], (unsigned long long)spent[part]);
    }
    return 0;
}
