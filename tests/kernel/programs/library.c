#include "spin.h"

__attribute__((noinline)) void in_library(uint64_t nanos) {
    spin(nanos);
    sink++;
}
