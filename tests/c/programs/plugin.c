/* A shared library with trace points. */
#include <trace.h>

void plugin_work(int number);

void plugin_work(int number) {
    TRACE_DURATION("plugin", "work", "number", number);
    TRACE_INSTANT("plugin", "moment", TRACE_SCOPE_THREAD, "number", number);
    TRACE_INSTANT("off", "moment", TRACE_SCOPE_THREAD, "number", number);
}
