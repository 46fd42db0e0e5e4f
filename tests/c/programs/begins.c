/* Begins durations whose ends belong to another program: this one has no trace point for them. */
#include <trace.h>

int main(void) {
    trace_init();
    for (int i = 0; i < 3; i++) TRACE_DURATION_BEGIN("web", "request");
    TRACE_INSTANT("web", "last", TRACE_SCOPE_THREAD);
    trace_shutdown();
    return 0;
}
