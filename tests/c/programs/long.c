#include <trace.h>

static char text[60001];

int main(void) {
    for (int i = 0; i < 20000; i++) memcpy(text + 3 * i, "€", 3);
    trace_init();
    TRACE_INSTANT("long", "one", TRACE_SCOPE_THREAD, "text", text);
    TRACE_INSTANT("long", "two", TRACE_SCOPE_THREAD, "a", text, "b", TA_CHAR_ARRAY(text, 60000));
    TRACE_INSTANT("long", "\xff\xe2\x82\xac", TRACE_SCOPE_THREAD, "\x80", 1);
    trace_shutdown();
}
