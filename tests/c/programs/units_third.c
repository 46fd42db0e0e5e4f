#include <trace.h>

void third(void);

void third(void) { TRACE_INSTANT("units", "in C", TRACE_SCOPE_THREAD, "unit", 3); }
