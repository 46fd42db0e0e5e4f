/* The header under the name that programs for Fuchsia include. */
#ifndef LIB_TRACE_EVENT_H
#define LIB_TRACE_EVENT_H
#include "../../trace.h"
#endif
