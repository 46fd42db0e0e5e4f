/* A shared library that is a provider of its own. */
#include <trace.h>

void provider_start(void);
void provider_work(int number);
void provider_stop(void);

void provider_start(void) { trace_init(); }

void provider_work(int number) {
    TRACE_DURATION("provider", "work", "number", number);
}

void provider_stop(void) { trace_shutdown(); }
