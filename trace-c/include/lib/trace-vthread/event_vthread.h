/* The header under the name that programs for Fuchsia include. */
#ifndef LIB_TRACE_VTHREAD_EVENT_VTHREAD_H
#define LIB_TRACE_VTHREAD_EVENT_VTHREAD_H
#include "../../trace.h"
#endif
