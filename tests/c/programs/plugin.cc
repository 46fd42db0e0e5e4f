#include <string>
#include <trace.h>

/* Statics of inline functions in C++ must not prevent the unloading of a library. */
inline void work(int number) {
    TRACE_DURATION("plugin", "work", "number", number);
    TRACE_INSTANT("plugin", "moment", TRACE_SCOPE_THREAD, "number", number);
    TRACE_INSTANT("off", "moment", TRACE_SCOPE_THREAD, "number", number);
}

extern "C" void plugin_work(int number) { work(number); }
