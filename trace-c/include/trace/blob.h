/*
 * Bulk data. trace.h includes this header.
 *
 * TRACE_BLOB(type, name, bytes, size)
 *
 * Records data of a type, during any recording. They have no category, time or thread. Data of
 * 32,000 bytes or more are several records of the same name, which readers append. The last one has
 * fewer than 32,000 bytes, possibly none.
 *
 * TRACE_BLOB_EVENT(category, name, bytes, size, key, value, ...)
 *
 * Records data with a time, this thread and up to 13 arguments. More than 32,760 bytes are several records, with the arguments `part`,
 * from 1 on, and `parts`.
 *
 * TRACE_BLOB_ATTACHMENT(category, name, bytes, size)
 *
 * Records data with a category and a name. More than 32,760 bytes are several records, named as in `name (1/3)`.
 */
#ifndef TRACE_BLOB_H
#define TRACE_BLOB_H
#include "../trace.h"

enum trace_blob_type { TRACE_BLOB_TYPE_DATA = 1, TRACE_BLOB_TYPE_LAST_BRANCH = 2, TRACE_BLOB_TYPE_PERFETTO = 3 };

#define TRACE_BLOB(type, name, bytes, size) \
    TRACE_C_RECORD(trace_c_blob(TRACE_C_THIS, type, bytes, size), TRACE_C_INSTANT, "", name, ~)
#define TRACE_BLOB_ATTACHMENT(category, name, bytes, size) \
    TRACE_C_RECORD(trace_c_blob_attachment(TRACE_C_THIS, bytes, size), TRACE_C_INSTANT, category, name, ~)
#define TRACE_BLOB_EVENT(...)                                    \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_4_13(__VA_ARGS__, ~)) \
    ("TRACE_BLOB_EVENT(category, name, bytes, size, key, value, ...)", TRACE_C_BLOB_EVENT, (__VA_ARGS__, ~))

#ifdef __cplusplus
extern "C" {
#endif
void trace_c_blob(const struct trace_c_site *site, uint32_t type, const void *bytes, size_t size);
void trace_c_blob_attachment(const struct trace_c_site *site, const void *bytes, size_t size);
void trace_c_blob_event(const struct trace_c_site *site, const struct trace_c_argument *arguments, const void *bytes, size_t size);
#ifdef __cplusplus
}
#endif

/* The first two keys of the site are those of a part. */
#define TRACE_C_BLOB_EVENT(category, name, bytes, size, ...)                                                        \
    TRACE_C_RECORD(trace_c_blob_event(TRACE_C_THIS, TRACE_C_VALUES(__VA_ARGS__), bytes, size), TRACE_C_INSTANT,     \
                   category, name, "part", 0, "parts", 0, __VA_ARGS__)

/* As TRACE_C_SHAPE_4, with up to 13 pairs. */
#define TRACE_C_SHAPE_4_13(...)                                                                                           \
    TRACE_C_61ST(__VA_ARGS__, TRACE_C_MANY_23, MANY_, MANY_, MANY_, MANY_, MANY_, MANY_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, \
                 ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_,  \
                 ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, FEW_, FEW_, FEW_, FEW_, ~)

#endif
