/* Trace points that compile without warnings in strict projects, and several on one line. */
#include <trace.h>

#define TRACE_BOTH(outer, inner)      \
    TRACE_DURATION("strict", outer); \
    TRACE_DURATION("strict", inner, "number", 1)

int main(void) {
    uint64_t id = 7;
    trace_init();
    {
        /* clang-format off */
        TRACE_DURATION("strict", "first"); TRACE_DURATION("strict", "second"); TRACE_BOTH("third", "fourth");
        /* clang-format on */
        TRACE_INSTANT("strict", "values", TRACE_SCOPE_THREAD, "int32", TA_INT32(-1), "uint64", TA_UINT64(id), "text", TA_CHAR_ARRAY("text", 2));
        TRACE_COUNTER("strict", "counter", id, "int", -1, "double", 0.5, "typed", TA_INT64(-2));
        TRACE_ASYNC_BEGIN("strict", "async", id);
        TRACE_ALERT("strict", "alert");
    }
    trace_shutdown();
    return TRACE_CATEGORY_ENABLED("strict");
}
