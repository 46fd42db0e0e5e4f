/* Blobs, objects, instaflows and virtual threads, as C and as C++. */
#define NONE 0 /* Programs have such macros. */
#define SOME 1
#define ODD 2
#define MANY 3

#include <lib/trace-vthread/event_vthread.h>
#include <lib/trace/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <trace-vthread/event_vthread.h>
#include <trace/event.h>

static int evaluated;

static uint64_t evaluate(void) { return (uint64_t)++evaluated; }

static void record_blobs(void) {
    static char large[70000];
    uint32_t type = 9;
    memset(large, 'x', sizeof large);
    TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "blob", "bytes", 5);
    TRACE_BLOB(type, "own type", "", 0);
    TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "large", large, 40000);
    TRACE_BLOB_EVENT("data", "event", "bytes", 5);
    TRACE_BLOB_EVENT("data", "with arguments", "bytes", 5, "number", 1, "text", "t");
    TRACE_BLOB_EVENT("data", "large event", large, sizeof large, "number", 1);
    TRACE_BLOB_EVENT("data", "13 arguments", "", 0, "1", 1, "2", 2, "3", 3, "4", 4, "5", 5, "6", 6, "7", 7, "8", 8, "9", 9, "10", 10, "11",
                     11, "12", 12, "13", 13);
    TRACE_BLOB_ATTACHMENT("data", "attachment", "bytes", 5);
    TRACE_BLOB_ATTACHMENT("data", "large attachment", large, sizeof large);
    TRACE_BLOB_EVENT("off", "off", "bytes", (size_t)evaluate(), "number", evaluate());
    TRACE_BLOB_ATTACHMENT("off", "off", "bytes", (size_t)evaluate());
}

static void record_objects(void) {
    char name[4000];
    int *address = (int *)(uintptr_t)0x1230;
    TRACE_USERSPACE_OBJECT(address, "object");
    snprintf(name, sizeof name, "object %d", 2);
    TRACE_USERSPACE_OBJECT(address, name, "size", 4, "text", "t");
    TRACE_KERNEL_OBJECT(77, 100, "socket", "port", 80);
    TRACE_KERNEL_OBJECT(evaluate(), 100, "gr\xfcn");
    TRACE_KERNEL_OBJECT(78, 100, NULL);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    TRACE_KERNEL_OBJECT(79, 100, name);
}

static void record_instaflows(void) {
    uint64_t id = 7;
    bool done = true;
    TRACE_INSTAFLOW_BEGIN("flow", "job", "pushed", id, "length", 3);
    TRACE_INSTAFLOW_STEP("flow", "job", "scheduled", id);
    if (evaluated < 0)
        TRACE_INSTAFLOW_END("flow", "job", "never", id);
    else
        TRACE_INSTAFLOW_END("flow", "job", "done", id, "result", done);
    TRACE_INSTAFLOW_BEGIN("off", "off", "off", evaluate(), "number", evaluate());
}

static void record_vthreads(void) {
    uint64_t start = trace_ticks(), end = trace_ticks_from_boottime(UINT64_C(1000000000) << 32);
    for (uint64_t queue = 0; queue < 3; queue++) {
        TRACE_VTHREAD_DURATION_BEGIN("vthread", "draw", "queue", queue % 2, start, "queue", queue);
        TRACE_VTHREAD_FLOW_BEGIN("vthread", "arrow", "queue", queue % 2, 1, start);
        TRACE_VTHREAD_FLOW_STEP("vthread", "arrow", "queue", queue % 2, 1, start, "number", 1);
        TRACE_VTHREAD_FLOW_END("vthread", "arrow", "queue", queue % 2, 1, end);
        TRACE_VTHREAD_COUNTER("vthread", "memory", "queue", queue % 2, 5, end, "bytes", 4096);
        TRACE_VTHREAD_DURATION_END("vthread", "draw", "queue", queue % 2, end);
    }
    TRACE_VTHREAD_DURATION_BEGIN("off", "off", "off", evaluate(), evaluate(), "number", evaluate());
    TRACE_VTHREAD_FLOW_END("off", "off", "off", evaluate(), evaluate(), evaluate());
    TRACE_VTHREAD_COUNTER("off", "off", "off", evaluate(), evaluate(), evaluate(), "number", evaluate());
}

int main(void) {
    trace_init();
    record_blobs();
    record_objects();
    record_instaflows();
    record_vthreads();
    trace_shutdown();
    printf("%d\n", evaluated);
    return 0;
}
