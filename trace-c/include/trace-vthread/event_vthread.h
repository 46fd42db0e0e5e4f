/* The header under the name that programs for Fuchsia include. */
#ifndef TRACE_VTHREAD_EVENT_VTHREAD_H
#define TRACE_VTHREAD_EVENT_VTHREAD_H
#include "../trace.h"
#endif
