/* Prints the reason why this process is not traced, and the tracer's messages. */
#include <stdio.h>
#include <trace.h>

static void message(const char *text) { printf("message: %s\n", text); }

static void say(void) {
    char reason[200], start[8];
    int code = (int)trace_status(reason, sizeof reason);
    if ((int)trace_status(start, sizeof start) != code || strncmp(start, reason, 7) != 0 || (int)trace_status(NULL, 0) != code) code = -1;
    printf("%d %s\n", code, reason);
}

int main(void) {
    say();
    trace_on_message(message);
    trace_init();
    say();
    trace_init();
    say();
    trace_shutdown();
    say();
    trace_on_message(NULL);
    return 0;
}
