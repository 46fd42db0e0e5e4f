#include "points.h"

int main(void) {
    say();
    trace_init_named("points in C");
    record_all();
    say();
    trace_shutdown();
    record_all();
    say();
    return 0;
}
