#include <trace.h>

struct pair {
    int a, b;
};

void mistakes(const char *name, struct pair pair);

void mistakes(const char *name, struct pair pair) {
    (void)name, (void)pair;
    TRACE_INSTANT("c", "15 are not too many", TRACE_SCOPE_THREAD, "1", 1, "2", 2, "3", 3, "4", 4, "5", 5, "6", 6, "7", 7, "8", 8, "9", 9,
                  "10", 10, "11", 11, "12", 12, "13", 13, "14", 14, "15", 15);
#ifdef TOO_MANY
    TRACE_INSTANT("c", "n", TRACE_SCOPE_THREAD, "1", 1, "2", 2, "3", 3, "4", 4, "5", 5, "6", 6, "7", 7, "8", 8, "9", 9, "10", 10, "11", 11,
                  "12", 12, "13", 13, "14", 14, "15", 15, "16", 16);
#endif
#ifdef FAR_TOO_MANY
    TRACE_DURATION("c", "n", "1", 1, "2", 2, "3", 3, "4", 4, "5", 5, "6", 6, "7", 7, "8", 8, "9", 9, "10", 10, "11", 11, "12", 12, "13", 13,
                   "14", 14, "15", 15, "16", 16, "17", 17, "18", 18, "19", 19);
#endif
#ifdef KEY_ALONE
    TRACE_DURATION_BEGIN("c", "n", "key", 1, "alone");
#endif
#ifdef NO_VALUE
    TRACE_COUNTER("c", "n", 0);
#endif
#ifdef LONG_ALERT
    TRACE_ALERT("c", "fifteen bytes!!");
#endif
#ifdef NAME_AT_RUN_TIME
    TRACE_INSTANT("c", name, TRACE_SCOPE_THREAD);
#endif
#ifdef NAME_OF_DURATION
    TRACE_DURATION("c", name, "key", 1);
#endif
#ifdef CATEGORY_AT_RUN_TIME
    TRACE_FLOW_END(name, "n", 1);
#endif
#ifdef KEY_AT_RUN_TIME
    TRACE_INSTANT("c", "n", TRACE_SCOPE_THREAD, "key", 1, name, 2);
#endif
#ifdef NO_SCOPE
    TRACE_INSTANT("c", "n");
#endif
#ifdef NO_ID
    TRACE_ASYNC_BEGIN("c", "n");
#endif
#ifdef ONLY_CATEGORY
    TRACE_DURATION("app");
#endif
#ifdef NOTHING
    TRACE_DURATION();
#endif
#ifdef NO_FLOW_ID
    TRACE_INSTAFLOW_BEGIN("c", "flow", "step");
#endif
#ifdef NO_TICKS
    TRACE_VTHREAD_DURATION_BEGIN("c", "n", "vthread", 1);
#endif
#ifdef NO_SIZE
    TRACE_BLOB_EVENT("c", "n", "bytes");
#endif
#ifdef PAIRS_14
    TRACE_BLOB_EVENT("c", "n", "bytes", 5, "1", 1, "2", 2, "3", 3, "4", 4, "5", 5, "6", 6, "7", 7, "8", 8, "9", 9, "10", 10, "11", 11, "12", 12,
                     "13", 13, "14", 14);
#endif
#ifdef NO_NAME
    TRACE_USERSPACE_OBJECT(&pair);
#endif
#ifdef NO_TYPE
    TRACE_KERNEL_OBJECT(1, "name");
#endif
#ifdef NO_VALUE_ON_VTHREAD
    TRACE_VTHREAD_COUNTER("c", "n", "vthread", 1, 2, 3);
#endif
#ifdef VTHREAD_AT_RUN_TIME
    TRACE_VTHREAD_DURATION_BEGIN("c", "n", name, 1, 2);
#endif
#ifdef TEXT_OF_COUNTER
    TRACE_COUNTER("c", "n", 0, "number", 1, "text", name);
#endif
#ifdef POINTER_OF_COUNTER
    TRACE_COUNTER("c", "n", 0, "pointer", &pair);
#endif
#ifdef WRONG_VALUE
    TRACE_INSTANT("c", "n", TRACE_SCOPE_THREAD, "pair", pair);
#endif
}
