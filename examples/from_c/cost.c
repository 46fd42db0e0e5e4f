/* The measured loops. */
#include "parts.h"

#include <trace.h>

/* Makes the compiler assume that the value is used. */
#define USE(value) __asm__ volatile("" : : "r"(value) : "memory")

void cost_scope(uint64_t count) {
    for (uint64_t round = 0; round < count; round++) {
        TRACE_DURATION("cost", "scope");
        USE(round);
    }
}

void cost_scope_with_arguments(uint64_t count) {
    const char *text = "short";
    USE(&text);
    for (uint64_t round = 0; round < count; round++) {
        TRACE_DURATION("cost", "scope with arguments", "number", (int64_t)round, "text", text);
        USE(round);
    }
}

void cost_instant(uint64_t count) {
    for (uint64_t round = 0; round < count; round++) TRACE_INSTANT("cost", "instant", TRACE_SCOPE_THREAD);
}

void cost_off(uint64_t count) {
    for (uint64_t round = 0; round < count; round++) {
        TRACE_DURATION("off", "scope", "number", (int64_t)round);
        USE(round);
    }
}
