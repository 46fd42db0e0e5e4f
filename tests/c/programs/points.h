/* Every macro and every type of value, as C and as C++. */
#include <stdio.h>
#include <trace.h>

static int evaluated;

static int evaluate(void) { return ++evaluated; }

static void record_values(void) {
    char buffer[] = "buffer";
    const char *none = NULL;
    bool yes = true;
    signed char small = -1;
    unsigned char byte = 2;
    short number16 = -3;
    unsigned short unsigned16 = 4;
    int number = -5;
    unsigned unsigned32 = 6;
    long number64 = -7;
    unsigned long long unsigned64 = 8;
    float half = 0.5f;
    int *address = (int *)(uintptr_t)0x1230;
    TRACE_INSTANT("values", "plain", TRACE_SCOPE_THREAD, "bool", yes, "schar", small, "uchar", byte, "short", number16, "ushort",
                  unsigned16, "int", number, "unsigned", unsigned32, "long", number64, "ullong", unsigned64, "float", half, "double", 1e9,
                  "literal", "text", "char[]", buffer, "none", none, "pointer", address);
    TRACE_INSTANT("values", "typed", TRACE_SCOPE_THREAD, "null", TA_NULL(), "bool", TA_BOOL(false), "int32", TA_INT32(-1), "uint32",
                  TA_UINT32(UINT32_MAX), "int64", TA_INT64(INT64_MIN), "uint64", TA_UINT64(UINT64_MAX), "double", TA_DOUBLE(-0.25),
                  "string", TA_STRING("grün"), "array", TA_CHAR_ARRAY("abcdefghijk", 9), "pointer", TA_POINTER(address), "koid",
                  TA_KOID(77), "latin1", "gr\xfcn", "empty", "");
}

static void record_all(void) {
    uint64_t id = 7;
    {
        TRACE_DURATION("points", "outer", "number", 1);
        TRACE_DURATION("points", "inner");
        TRACE_DURATION("off", "scope", "number", evaluate());
    }
    TRACE_DURATION_BEGIN("points", "pair", "begin", 1);
    TRACE_DURATION_END("points", "pair", "end", 2);
    TRACE_INSTANT("points", "of the process", TRACE_SCOPE_PROCESS);
    TRACE_INSTANT("points", "of all", TRACE_SCOPE_GLOBAL);
    TRACE_COUNTER("points", "counter", id, "value", 3, "other", 0.5);
    TRACE_ASYNC_BEGIN("points", "async", id, "key", 1);
    TRACE_ASYNC_INSTANT("points", "async", id);
    TRACE_ASYNC_END("points", "async", id);
    TRACE_FLOW_BEGIN("points", "flow", id);
    TRACE_FLOW_STEP("points", "flow", id);
    TRACE_FLOW_END("points", "flow", id, "key", 1);
    TRACE_DURATION_BEGIN("off", "off", "number", evaluate());
    TRACE_DURATION_END("off", "off", "number", evaluate());
    TRACE_INSTANT("off", "off", (enum trace_instant_scope)evaluate(), "number", evaluate());
    TRACE_COUNTER("off", "off", (uint64_t)evaluate(), "number", evaluate());
    TRACE_ASYNC_BEGIN("off", "off", (uint64_t)evaluate());
    TRACE_ASYNC_INSTANT("off", "off", (uint64_t)evaluate());
    TRACE_ASYNC_END("off", "off", (uint64_t)evaluate());
    TRACE_FLOW_BEGIN("off", "off", (uint64_t)evaluate());
    TRACE_FLOW_STEP("off", "off", (uint64_t)evaluate());
    TRACE_FLOW_END("off", "off", (uint64_t)evaluate());
    if (evaluated < 0)
        TRACE_INSTANT("points", "never", TRACE_SCOPE_THREAD);
    else
        TRACE_INSTANT("points", "statement", TRACE_SCOPE_THREAD);
    record_values();
}

static void raise_alerts(void) {
    TRACE_ALERT("points", "fourteen bytes");
    TRACE_ALERT("off", "not raised");
}

static void say(void) {
    bool enabled = TRACE_ENABLED(), on = TRACE_CATEGORY_ENABLED("points"), off = TRACE_CATEGORY_ENABLED("off");
    printf("%d %d %d %d %d\n", enabled, on, off, TRACE_NONCE() != TRACE_NONCE(), evaluated);
}
