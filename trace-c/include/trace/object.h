/*
 * Names of objects. trace.h includes this header.
 *
 * TRACE_USERSPACE_OBJECT(pointer, name, key, value, ...)
 *
 * Names the object at an address of this process, during any recording. Viewers show the name for
 * arguments with this address.
 *
 * TRACE_KERNEL_OBJECT(koid, type, name, key, value, ...)
 *
 * Names an id of the kernel, during any recording. Other types than TRACE_OBJECT_PROCESS and
 * TRACE_OBJECT_THREAD are the program's. An object of type TRACE_OBJECT_PROCESS is always this
 * process.
 *
 * The name is a text that ends with a zero, and can be created at run time. Up to 1,800 bytes of it
 * are recorded.
 */
#ifndef TRACE_OBJECT_H
#define TRACE_OBJECT_H
#include "../trace.h"

enum trace_object_type { TRACE_OBJECT_PROCESS = 1, TRACE_OBJECT_THREAD = 2 };

#define TRACE_USERSPACE_OBJECT(...)                              \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_2(__VA_ARGS__, ~)) \
    ("TRACE_USERSPACE_OBJECT(pointer, name, key, value, ...)", TRACE_C_USERSPACE_OBJECT, (__VA_ARGS__, ~))
#define TRACE_KERNEL_OBJECT(...)                                 \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_3(__VA_ARGS__, ~)) \
    ("TRACE_KERNEL_OBJECT(koid, type, name, key, value, ...)", TRACE_C_KERNEL_OBJECT, (__VA_ARGS__, ~))

#define TRACE_C_USERSPACE_OBJECT(pointer, name, ...)                                                             \
    TRACE_C_RECORD(trace_c_userspace_object(TRACE_C_THIS, TRACE_C_VALUES(__VA_ARGS__), pointer, name),           \
                   TRACE_C_INSTANT, "", "", __VA_ARGS__)
#define TRACE_C_KERNEL_OBJECT(koid, type, name, ...)                                                             \
    TRACE_C_RECORD(trace_c_kernel_object(TRACE_C_THIS, TRACE_C_VALUES(__VA_ARGS__), koid, type, name),           \
                   TRACE_C_INSTANT, "", "", __VA_ARGS__)

#ifdef __cplusplus
extern "C" {
#endif
void trace_c_userspace_object(const struct trace_c_site *site, const struct trace_c_argument *arguments, const volatile void *pointer,
                              const char *name);
void trace_c_kernel_object(const struct trace_c_site *site, const struct trace_c_argument *arguments, uint64_t koid, uint32_t type,
                           const char *name);
#ifdef __cplusplus
}
#endif

#endif
