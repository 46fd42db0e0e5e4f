/* The header under the name that programs for Fuchsia include. */
#ifndef TRACE_EVENT_H
#define TRACE_EVENT_H
#include "../trace.h"
#endif
