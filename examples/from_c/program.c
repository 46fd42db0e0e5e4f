/* A program in C. Record it with `TRACE_OUTPUT=program.fxt ./program` or `trace record -- ./program`. */
#include "parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <trace.h>

int main(void) {
    const char *text = "programs in C and C++ are traced like those in Rust";
    trace_init();
    printf("%" PRIu64 " words, the longest of %zu letters\n", count_words(text), longest_word(text));
    trace_shutdown();
    return 0;
}
