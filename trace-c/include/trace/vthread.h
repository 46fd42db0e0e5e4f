/*
 * Events on virtual threads: a GPU queue, a connection, a device. trace.h includes this header.
 *
 * TRACE_VTHREAD_DURATION_BEGIN(category, name, vthread_name, vthread_id, ticks, key, value, ...)
 * TRACE_VTHREAD_DURATION_END(category, name, vthread_name, vthread_id, ticks, key, value, ...)
 * TRACE_VTHREAD_FLOW_BEGIN(category, name, vthread_name, vthread_id, flow_id, ticks, key, value, ...)
 * TRACE_VTHREAD_FLOW_STEP(category, name, vthread_name, vthread_id, flow_id, ticks, key, value, ...)
 * TRACE_VTHREAD_FLOW_END(category, name, vthread_name, vthread_id, flow_id, ticks, key, value, ...)
 * TRACE_VTHREAD_COUNTER(category, name, vthread_name, vthread_id, counter_id, ticks, key, value, ...)
 *
 * Traces an event on a virtual thread at a time in ticks: trace_ticks() is now,
 * trace_ticks_from_boottime() converts. Virtual threads with the same id are one, in this process;
 * the first name, a string literal, is shown. These macros read no clock. The first event of a
 * virtual thread takes a lock and allocates memory. If there are more than 100 virtual threads,
 * other events occasionally do so too. The macros are not async-signal-safe.
 */
#ifndef TRACE_VTHREAD_H
#define TRACE_VTHREAD_H
#include "../trace.h"

#define TRACE_VTHREAD_DURATION_BEGIN(...)                                                                       \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_5(__VA_ARGS__, ~))                                                \
    ("TRACE_VTHREAD_DURATION_BEGIN(category, name, vthread_name, vthread_id, ticks, key, value, ...)",          \
     TRACE_C_VTHREAD_DURATION, (TRACE_C_DURATION_BEGIN, __VA_ARGS__, ~))
#define TRACE_VTHREAD_DURATION_END(...)                                                                         \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_5(__VA_ARGS__, ~))                                                \
    ("TRACE_VTHREAD_DURATION_END(category, name, vthread_name, vthread_id, ticks, key, value, ...)",            \
     TRACE_C_VTHREAD_DURATION, (TRACE_C_DURATION_END, __VA_ARGS__, ~))
#define TRACE_VTHREAD_FLOW_BEGIN(...)                                                                           \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_6(__VA_ARGS__, ~))                                                \
    ("TRACE_VTHREAD_FLOW_BEGIN(category, name, vthread_name, vthread_id, flow_id, ticks, key, value, ...)",     \
     TRACE_C_VTHREAD, (TRACE_C_FLOW_BEGIN, __VA_ARGS__, ~))
#define TRACE_VTHREAD_FLOW_STEP(...)                                                                            \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_6(__VA_ARGS__, ~))                                                \
    ("TRACE_VTHREAD_FLOW_STEP(category, name, vthread_name, vthread_id, flow_id, ticks, key, value, ...)",      \
     TRACE_C_VTHREAD, (TRACE_C_FLOW_STEP, __VA_ARGS__, ~))
#define TRACE_VTHREAD_FLOW_END(...)                                                                             \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_6(__VA_ARGS__, ~))                                                \
    ("TRACE_VTHREAD_FLOW_END(category, name, vthread_name, vthread_id, flow_id, ticks, key, value, ...)",       \
     TRACE_C_VTHREAD, (TRACE_C_FLOW_END, __VA_ARGS__, ~))
#define TRACE_VTHREAD_COUNTER(...)                                                                              \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_6(__VA_ARGS__, ~))                                                \
    ("TRACE_VTHREAD_COUNTER(category, name, vthread_name, vthread_id, counter_id, ticks, key, value, ...)",     \
     TRACE_C_VTHREAD_COUNTER, (__VA_ARGS__, ~))

#define TRACE_C_VTHREAD_DURATION(type, category, name, vthread, vthread_id, ticks, ...) \
    TRACE_C_VTHREAD(type, category, name, vthread, vthread_id, 0, ticks, __VA_ARGS__)
#define TRACE_C_VTHREAD_COUNTER(category, name, vthread, vthread_id, id, ticks, ...)                  \
    TRACE_C_JOIN(TRACE_C_VTHREAD_COUNTER_, TRACE_C_ANY(__VA_ARGS__))                                  \
    (category, name, vthread, vthread_id, id, ticks, __VA_ARGS__)
#define TRACE_C_VTHREAD_COUNTER_SOME_(category, name, vthread, vthread_id, id, ticks, ...)            \
    do {                                                                                              \
        TRACE_C_EACH(TRACE_C_EXPECT_NUMBER, __VA_ARGS__)                                              \
        TRACE_C_VTHREAD(TRACE_C_COUNTER, category, name, vthread, vthread_id, id, ticks, __VA_ARGS__); \
    } while (0)
#define TRACE_C_VTHREAD_COUNTER_NONE_(...) TRACE_C_WRONG("TRACE_VTHREAD_COUNTER: a counter has at least one value")

#define TRACE_C_VTHREAD(type, category, name, vthread, vthread_id, tail, ticks, ...)                                          \
    do {                                                                                                                      \
        TRACE_C_EXPECT_TEXTS(category, vthread, ~)                                                                            \
        TRACE_C_RECORD(trace_c_event_at(TRACE_C_THIS, TRACE_C_VALUES(__VA_ARGS__), tail, TRACE_C_CAST(uint64_t, ticks),       \
                                        trace_c_track("" vthread "", TRACE_C_CAST(uint64_t, vthread_id))),                    \
                       type, category, name, __VA_ARGS__);                                                                    \
    } while (0)

#endif
