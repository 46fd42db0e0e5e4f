/*
 * Flow events with a duration of their own. trace.h includes this header.
 *
 * TRACE_INSTAFLOW_BEGIN(category, flow_name, step_name, id, key, value, ...)
 * TRACE_INSTAFLOW_STEP(category, flow_name, step_name, id, key, value, ...)
 * TRACE_INSTAFLOW_END(category, flow_name, step_name, id, key, value, ...)
 *
 * Traces a flow event and a zero-length duration around it, for places without another duration.
 * The arguments are those of the duration. Writes three records with one time: costs one read of
 * the clock.
 */
#ifndef TRACE_INSTAFLOW_H
#define TRACE_INSTAFLOW_H
#include "../trace.h"

#define TRACE_INSTAFLOW_BEGIN(...)                               \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_4(__VA_ARGS__, ~)) \
    ("TRACE_INSTAFLOW_BEGIN(category, flow_name, step_name, id, key, value, ...)", TRACE_C_INSTAFLOW, (TRACE_C_FLOW_BEGIN, __VA_ARGS__, ~))
#define TRACE_INSTAFLOW_STEP(...)                                \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_4(__VA_ARGS__, ~)) \
    ("TRACE_INSTAFLOW_STEP(category, flow_name, step_name, id, key, value, ...)", TRACE_C_INSTAFLOW, (TRACE_C_FLOW_STEP, __VA_ARGS__, ~))
#define TRACE_INSTAFLOW_END(...)                                 \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_4(__VA_ARGS__, ~)) \
    ("TRACE_INSTAFLOW_END(category, flow_name, step_name, id, key, value, ...)", TRACE_C_INSTAFLOW, (TRACE_C_FLOW_END, __VA_ARGS__, ~))

#define TRACE_C_INSTAFLOW(type, category, flow, step, id, ...)                                                                  \
    do {                                                                                                                        \
        if (TRACE_C_IS_ON(category)) {                                                                                          \
            const uint64_t trace_c_time = trace_ticks();                                                                        \
            TRACE_C_RECORD(trace_c_event_at(TRACE_C_THIS, TRACE_C_VALUES(__VA_ARGS__), 0, trace_c_time, 0),                     \
                           TRACE_C_DURATION_BEGIN, category, step, __VA_ARGS__);                                                \
            TRACE_C_RECORD(trace_c_event_at(TRACE_C_THIS, NULL, id, trace_c_time, 0), type, category, flow, ~);                 \
            TRACE_C_RECORD(trace_c_event_at(TRACE_C_THIS, NULL, 0, trace_c_time, 0), TRACE_C_DURATION_END, category, step, ~);  \
        }                                                                                                                       \
    } while (0)

#endif
