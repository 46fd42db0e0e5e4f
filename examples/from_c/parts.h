/* The parts of the example. */
#ifndef PARTS_H
#define PARTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of words in a text. In C. */
uint64_t count_words(const char *text);

/* Returns the length of the longest word. In C++. */
size_t longest_word(const char *text);

/* Loops over one trace point, `count` times, to measure its cost. */
void cost_scope(uint64_t count);
void cost_scope_with_arguments(uint64_t count);
void cost_instant(uint64_t count);
void cost_off(uint64_t count);

#ifdef __cplusplus
}
#endif
#endif
