#include "points.h"

int main(void) {
    say();
    trace_init_named("points in C");
    record_all();
    raise_alerts();
    say();
    trace_shutdown();
    record_all();
    say();
    return 0;
}
