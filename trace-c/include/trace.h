/*
 * Trace points for C (C11) and C++ (C++11) on Linux, with Fuchsia's macros. Requires GCC or clang.
 *
 *     #include <trace.h>
 *
 *     void work(int job) {
 *         TRACE_DURATION("app", "work", "job", job);
 *     }
 *
 *     int main(void) {
 *         trace_init();
 *         work(3);
 *         trace_shutdown();
 *     }
 *
 * Link with libtrace_c.a and -lpthread -ldl -lm. A program that loads shared libraries with trace
 * points also needs -rdynamic; the libraries do not. Record with `trace record -- ./app`, or with
 * TRACE_OUTPUT=app.fxt ./app.
 *
 * Category, name and keys are string literals. Up to 15 arguments follow, as pairs of key and value.
 * A value is a number, a bool, a text or a pointer; in C++ also an enum, nullptr, or any type with
 * data() and size() that is a text; or the result of a TA_ function below. A value that contains a
 * comma requires parentheses. Texts are UTF-8; other bytes are recorded as `?`. Texts are cut at
 * 32,000 bytes, or at 1,800 bytes if the record would exceed 32 KB.
 *
 * While its category is off, a trace point costs one load and a branch, and evaluates no argument.
 * While its category is on, a trace point takes no lock, makes no system call, allocates no memory
 * and never waits; most of its cost is one read of the clock. Trace points work in every thread at
 * any time: in signal handlers, in constructors before main, after fork, while an exception
 * unwinds.
 *
 * If NTRACE is defined before this header is included, trace points generate no code: arguments are
 * type-checked and not evaluated, and no library is required. On other systems than Linux it is
 * always defined.
 *
 * Names that begin with trace_c_ or TRACE_C_ are internal.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(__linux__) && !defined(NTRACE)
#define NTRACE
#endif

#ifdef __cplusplus
#include <type_traits>
#define TRACE_C_INLINE inline
#define TRACE_C_ASSERT static_assert
#define TRACE_C_CAST(type, value) static_cast<type>(value)
#define TRACE_C_ADDRESS(pointer) reinterpret_cast<uintptr_t>(pointer)
/*
 * The visibility of the type applies to its variables, also to those in inline functions. So the
 * linker resolves their addresses, and dlclose can unload them.
 */
#define TRACE_C_HIDDEN __attribute__((visibility("hidden")))
extern "C" {
#else
#include <stdbool.h>
#define TRACE_C_INLINE static inline
#define TRACE_C_ASSERT _Static_assert
#define TRACE_C_CAST(type, value) ((type)(value))
#define TRACE_C_ADDRESS(pointer) ((uintptr_t)(pointer))
#define TRACE_C_HIDDEN
#endif

/* ---- Trace points ---------------------------------------------------------------------------------------------------------------- */

/*
 * TRACE_DURATION(category, name, key, value, ...)
 *
 * Traces a duration from here to the end of the enclosing block, also if return, break, goto or an
 * exception leaves it, but not longjmp. Arguments are recorded now. This is a declaration, so it
 * must be inside a block. Costs two reads of the clock.
 */
#define TRACE_DURATION(...)                                              \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_2(__VA_ARGS__, ~))      \
    ("TRACE_DURATION(category, name, key, value, ...)", TRACE_C_DURATION, \
     (TRACE_C_HERE(trace_c_scope_), __VA_ARGS__, ~))

/*
 * TRACE_DURATION_BEGIN(category, name, key, value, ...)
 * TRACE_DURATION_END(category, name, key, value, ...)
 *
 * Begins a duration, and ends the last one that began on this thread. Each costs one read of the
 * clock, like all macros below.
 */
#define TRACE_DURATION_BEGIN(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_2(__VA_ARGS__, ~)) \
    ("TRACE_DURATION_BEGIN(category, name, key, value, ...)", TRACE_C_EVENT, (TRACE_C_DURATION_BEGIN, __VA_ARGS__, ~))
#define TRACE_DURATION_END(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_2(__VA_ARGS__, ~)) \
    ("TRACE_DURATION_END(category, name, key, value, ...)", TRACE_C_EVENT, (TRACE_C_DURATION_END, __VA_ARGS__, ~))

/*
 * TRACE_INSTANT(category, name, scope, key, value, ...)
 *
 * Traces a moment of this thread, of the process, or of the whole trace.
 */
#define TRACE_INSTANT(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_3(__VA_ARGS__, ~)) \
    ("TRACE_INSTANT(category, name, scope, key, value, ...)", TRACE_C_EVENT_WITH, (TRACE_C_INSTANT, __VA_ARGS__, ~))
enum trace_instant_scope { TRACE_SCOPE_THREAD = 0, TRACE_SCOPE_PROCESS = 1, TRACE_SCOPE_GLOBAL = 2 };

/*
 * TRACE_COUNTER(category, name, id, key, value, ...)
 *
 * Samples the values of a counter. Each argument is a number, and one series of the counter. The id
 * distinguishes counters of the same name; 0 if there is one.
 */
#define TRACE_COUNTER(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_3(__VA_ARGS__, ~)) \
    ("TRACE_COUNTER(category, name, id, key, value, ...)", TRACE_C_COUNTER_WITH, (__VA_ARGS__, ~))

/*
 * TRACE_ASYNC_BEGIN(category, name, id, key, value, ...)
 * TRACE_ASYNC_INSTANT(category, name, id, key, value, ...)
 * TRACE_ASYNC_END(category, name, id, key, value, ...)
 *
 * Traces an operation that can span threads, and moments in it. TRACE_NONCE() returns an id.
 */
#define TRACE_ASYNC_BEGIN(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_3(__VA_ARGS__, ~)) \
    ("TRACE_ASYNC_BEGIN(category, name, id, key, value, ...)", TRACE_C_EVENT_WITH, (TRACE_C_ASYNC_BEGIN, __VA_ARGS__, ~))
#define TRACE_ASYNC_INSTANT(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_3(__VA_ARGS__, ~)) \
    ("TRACE_ASYNC_INSTANT(category, name, id, key, value, ...)", TRACE_C_EVENT_WITH, (TRACE_C_ASYNC_INSTANT, __VA_ARGS__, ~))
#define TRACE_ASYNC_END(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_3(__VA_ARGS__, ~)) \
    ("TRACE_ASYNC_END(category, name, id, key, value, ...)", TRACE_C_EVENT_WITH, (TRACE_C_ASYNC_END, __VA_ARGS__, ~))

/*
 * TRACE_FLOW_BEGIN(category, name, id, key, value, ...)
 * TRACE_FLOW_STEP(category, name, id, key, value, ...)
 * TRACE_FLOW_END(category, name, id, key, value, ...)
 *
 * Traces an arrow from the enclosing duration of one to that of the next. TRACE_NONCE() returns an
 * id.
 */
#define TRACE_FLOW_BEGIN(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_3(__VA_ARGS__, ~)) \
    ("TRACE_FLOW_BEGIN(category, name, id, key, value, ...)", TRACE_C_EVENT_WITH, (TRACE_C_FLOW_BEGIN, __VA_ARGS__, ~))
#define TRACE_FLOW_STEP(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_3(__VA_ARGS__, ~)) \
    ("TRACE_FLOW_STEP(category, name, id, key, value, ...)", TRACE_C_EVENT_WITH, (TRACE_C_FLOW_STEP, __VA_ARGS__, ~))
#define TRACE_FLOW_END(...) \
    TRACE_C_JOIN(TRACE_C_CALL_, TRACE_C_SHAPE_3(__VA_ARGS__, ~)) \
    ("TRACE_FLOW_END(category, name, id, key, value, ...)", TRACE_C_EVENT_WITH, (TRACE_C_FLOW_END, __VA_ARGS__, ~))

/*
 * TRACE_ALERT(category, name)
 *
 * Raises an alert, which reaches the manager at once; `trace record --trigger name:snapshot` acts on
 * it. The name has 1 to 14 bytes. A program has up to 64 names in C and C++. Costs one system call.
 */
#define TRACE_ALERT(category, name)                                                                                       \
    do {                                                                                                                  \
        TRACE_C_ASSERT(sizeof("" name "") > 1 && sizeof("" name "") <= 15, "the name of an alert has 1 to 14 bytes");     \
        if (TRACE_C_IS_ON(category)) trace_c_alert(name);                                                                 \
    } while (0)

/* Return whether any category, or this one, is recorded, as a bool. Cost one load. Only inside functions. */
#define TRACE_ENABLED() TRACE_C_IS_ON("")
#define TRACE_CATEGORY_ENABLED(category) TRACE_C_IS_ON(category)

/*
 * TRACE_BLOB(type, name, bytes, size), TRACE_BLOB_EVENT(category, name, bytes, size, key, value, ...) and
 * TRACE_BLOB_ATTACHMENT(category, name, bytes, size): trace/blob.h.
 *
 * TRACE_INSTAFLOW_BEGIN, _STEP and _END(category, flow_name, step_name, id, key, value, ...): trace/instaflow.h.
 *
 * TRACE_USERSPACE_OBJECT(pointer, name, key, value, ...) and TRACE_KERNEL_OBJECT(koid, type, name, key, value, ...): trace/object.h.
 *
 * TRACE_VTHREAD_DURATION_BEGIN and _END(category, name, vthread_name, vthread_id, ticks, key, value, ...), TRACE_VTHREAD_FLOW_BEGIN,
 * _STEP and _END, and TRACE_VTHREAD_COUNTER, which have an id in front of the ticks: trace/vthread.h.
 */

/* Returns an id that is unique on this machine, and not 0, as a uint64_t. Costs one atomic addition. */
#define TRACE_NONCE() trace_nonce()

/* Why a process is not traced. */
enum trace_status_code {
    TRACE_STATUS_PROVIDER = 0,     /* it is traced, or will be when a manager appears */
    TRACE_STATUS_NOT_BEGUN = 1,    /* trace_init() was not called, or trace_shutdown() was */
    TRACE_STATUS_START = 2,        /* the tracer has no threads or no memory */
    TRACE_STATUS_DESCRIPTORS = 3,  /* the tracer cannot get file descriptors of its own: it requires Linux 5.9, or /proc */
    TRACE_STATUS_MANAGER_USER = 4, /* the manager runs as a user that this process does not accept */
    TRACE_STATUS_MANAGER = 5,      /* the manager sent something that it must not send */
    TRACE_STATUS_OUTPUT = 6,       /* the archive cannot be written */
    TRACE_STATUS_OTHER = 7
};

#ifndef NTRACE
/*
 * Makes this process a trace provider, until trace_shutdown(). If a manager is recording, the next
 * event is recorded already. Without a manager it returns at once, and the process joins as soon as
 * one appears. The variables TRACE_SOCKET, TRACE_OUTPUT, TRACE_CATEGORIES, TRACE_BUFFER_SIZE and
 * TRACE_BUFFERING_MODE are described in the guide of the crate trace-runtime. Further calls have no
 * effect. Not async-signal-safe. Costs one sleeping thread.
 */
void trace_init(void);

/* Like trace_init(), with a name for the provider, in UTF-8. NULL selects the name of the process. */
void trace_init_named(const char *name);

/* Reverts trace_init(), after any number of calls, and saves all records. exit() does so by itself. */
void trace_shutdown(void);

uint64_t trace_nonce(void);

/* The time now, in ticks of the trace's clock. Fuchsia has zx_ticks_get(). */
uint64_t trace_ticks(void);

/* The time at which CLOCK_BOOTTIME shows these nanoseconds, in ticks. Costs about half a microsecond. */
uint64_t trace_ticks_from_boottime(uint64_t nanoseconds);

/*
 * Returns the reason why this process is not traced, and stores it as text: one line that ends with
 * a zero, cut to `size` bytes. No text is stored if `reason` is NULL, and an empty line for
 * TRACE_STATUS_PROVIDER.
 */
enum trace_status_code trace_status(char *reason, size_t size);

/*
 * Sets a function that receives messages for the program's user: the reason why the process is not
 * traced, or the place of its archive if it differs from the requested one. Without a function,
 * messages are dropped. Call this before trace_init(). The function is called on the thread that
 * calls trace_init() or trace_shutdown(), and must not throw. NULL removes it.
 */
void trace_on_message(void (*function)(const char *message));
#else
TRACE_C_INLINE void trace_init(void) {}
TRACE_C_INLINE void trace_init_named(const char *name) { (void)name; }
TRACE_C_INLINE void trace_shutdown(void) {}
TRACE_C_INLINE uint64_t trace_nonce(void) { return 0; }
TRACE_C_INLINE uint64_t trace_ticks(void) { return 0; }
TRACE_C_INLINE uint64_t trace_ticks_from_boottime(uint64_t nanoseconds) { return (void)nanoseconds, TRACE_C_CAST(uint64_t, 0); }
TRACE_C_INLINE enum trace_status_code trace_status(char *reason, size_t size) {
    if (reason && size) *reason = 0;
    return TRACE_STATUS_PROVIDER;
}
TRACE_C_INLINE void trace_on_message(void (*function)(const char *message)) { (void)function; }
#endif

/* ---- Values ---------------------------------------------------------------------------------------------------------------------- */

/* The value of an argument. */
struct trace_c_argument {
    uint32_t type;   /* as the format numbers them */
    uint32_t length; /* bytes of a text */
    uint64_t value;  /* bits, or the address of a text */
};

TRACE_C_INLINE struct trace_c_argument trace_c_number(uint32_t type, uint64_t value) {
    struct trace_c_argument argument = {type, 0, value};
    return argument;
}

/* One for each type of the format. Texts are read before the trace point returns. TA_STRING(NULL) is null. */
TRACE_C_INLINE struct trace_c_argument TA_NULL(void) { return trace_c_number(0, 0); }
TRACE_C_INLINE struct trace_c_argument TA_INT32(int32_t value) { return trace_c_number(1, TRACE_C_CAST(uint64_t, value)); }
TRACE_C_INLINE struct trace_c_argument TA_UINT32(uint32_t value) { return trace_c_number(2, value); }
TRACE_C_INLINE struct trace_c_argument TA_INT64(int64_t value) { return trace_c_number(3, TRACE_C_CAST(uint64_t, value)); }
TRACE_C_INLINE struct trace_c_argument TA_UINT64(uint64_t value) { return trace_c_number(4, value); }
TRACE_C_INLINE struct trace_c_argument TA_DOUBLE(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return trace_c_number(5, bits);
}
TRACE_C_INLINE struct trace_c_argument TA_CHAR_ARRAY(const char *text, size_t length) {
    struct trace_c_argument argument = {6, length < UINT32_MAX ? TRACE_C_CAST(uint32_t, length) : UINT32_MAX, TRACE_C_ADDRESS(text)};
    return argument;
}
TRACE_C_INLINE struct trace_c_argument TA_STRING(const char *text) {
    return text ? TA_CHAR_ARRAY(text, strlen(text)) : TA_NULL();
}
TRACE_C_INLINE struct trace_c_argument TA_POINTER(const volatile void *value) {
    return trace_c_number(7, TRACE_C_ADDRESS(value));
}
TRACE_C_INLINE struct trace_c_argument TA_KOID(uint64_t value) { return trace_c_number(8, value); }
TRACE_C_INLINE struct trace_c_argument TA_BOOL(bool value) { return trace_c_number(9, value); }

#ifdef __cplusplus
} /* extern "C" */

inline trace_c_argument trace_c_value(trace_c_argument value) { return value; }
inline trace_c_argument trace_c_value(std::nullptr_t) { return TA_NULL(); }
inline trace_c_argument trace_c_value(bool value) { return TA_BOOL(value); }
inline trace_c_argument trace_c_value(char value) { return TA_INT32(value); }
inline trace_c_argument trace_c_value(signed char value) { return TA_INT32(value); }
inline trace_c_argument trace_c_value(unsigned char value) { return TA_UINT32(value); }
inline trace_c_argument trace_c_value(short value) { return TA_INT32(value); }
inline trace_c_argument trace_c_value(unsigned short value) { return TA_UINT32(value); }
inline trace_c_argument trace_c_value(int value) { return TA_INT32(value); }
inline trace_c_argument trace_c_value(unsigned value) { return TA_UINT32(value); }
inline trace_c_argument trace_c_value(long value) { return TA_INT64(value); }
inline trace_c_argument trace_c_value(unsigned long value) { return TA_UINT64(value); }
inline trace_c_argument trace_c_value(long long value) { return TA_INT64(value); }
inline trace_c_argument trace_c_value(unsigned long long value) { return TA_UINT64(value); }
inline trace_c_argument trace_c_value(float value) { return TA_DOUBLE(static_cast<double>(value)); }
inline trace_c_argument trace_c_value(double value) { return TA_DOUBLE(value); }
inline trace_c_argument trace_c_value(char *value) { return TA_STRING(value); }
inline trace_c_argument trace_c_value(const char *value) { return TA_STRING(value); }
template <typename T>
trace_c_argument trace_c_value(T *value) {
    return TA_POINTER(value);
}
template <typename T, typename = typename std::enable_if<std::is_enum<T>::value>::type>
trace_c_argument trace_c_value(T value) {
    return trace_c_value(static_cast<typename std::underlying_type<T>::type>(value));
}
template <typename T>
auto trace_c_value(const T &text) -> decltype(TA_CHAR_ARRAY(text.data(), text.size())) {
    return TA_CHAR_ARRAY(text.data(), text.size());
}

template <typename T>
void trace_c_expect_number(const T &) {
    static_assert(std::is_convertible<T, double>::value || std::is_enum<T>::value || std::is_same<T, trace_c_argument>::value,
                  "the values of a counter are numbers");
}
#define TRACE_C_EXPECT_NUMBER(key, value) if (false) trace_c_expect_number(value);

/* Values that live as long as the texts that they point to: to the end of the call. */
template <size_t COUNT>
struct trace_c_values {
    trace_c_argument values[COUNT];
};
#define TRACE_C_VALUE(key, value) trace_c_value(value),
#define TRACE_C_VALUES_SOME_(...) \
    (trace_c_values<TRACE_C_COUNT(__VA_ARGS__)>{{TRACE_C_EACH(TRACE_C_VALUE, __VA_ARGS__)}}.values)

extern "C" {
#else
TRACE_C_INLINE struct trace_c_argument trace_c_same(struct trace_c_argument value) { return value; }

#define TRACE_C_VALUE(key, value)                                                                                                \
    _Generic((value), struct trace_c_argument: trace_c_same, _Bool: TA_BOOL, char: TA_INT32, signed char: TA_INT32,              \
        unsigned char: TA_UINT32, short: TA_INT32, unsigned short: TA_UINT32, int: TA_INT32, unsigned: TA_UINT32, long: TA_INT64, \
        unsigned long: TA_UINT64, long long: TA_INT64, unsigned long long: TA_UINT64, float: TA_DOUBLE, double: TA_DOUBLE,       \
        char *: TA_STRING, const char *: TA_STRING, default: TA_POINTER)(value),
#define TRACE_C_EXPECT_NUMBER(key, value)                                                                                         \
    TRACE_C_ASSERT(_Generic((value), struct trace_c_argument: 1, _Bool: 1, char: 1, signed char: 1, unsigned char: 1, short: 1,    \
                       unsigned short: 1, int: 1, unsigned: 1, long: 1, unsigned long: 1, long long: 1, unsigned long long: 1,     \
                       float: 1, double: 1, default: 0),                                                                           \
                   "the values of a counter are numbers");
#define TRACE_C_VALUES_SOME_(...) ((const struct trace_c_argument[]){TRACE_C_EACH(TRACE_C_VALUE, __VA_ARGS__)})
#endif

#define TRACE_C_VALUES_NONE_(...) NULL
#define TRACE_C_VALUES(...) TRACE_C_JOIN(TRACE_C_VALUES_, TRACE_C_ANY(__VA_ARGS__))(__VA_ARGS__)

/* ---- Lists of arguments: pairs, and a ~ at the end, so that no list is empty ------------------------------------------------------ */

#define TRACE_C_JOIN(a, b) TRACE_C_JOIN_(a, b)
#define TRACE_C_JOIN_(a, b) a##b
/* A unique name for each expansion; a line can have several. */
#ifdef __COUNTER__
#define TRACE_C_HERE(name) TRACE_C_JOIN(name, __COUNTER__)
#else
#define TRACE_C_HERE(name) TRACE_C_JOIN(name, __LINE__)
#endif

/* The 61st of its arguments, which are expanded first. */
#define TRACE_C_61ST(...) TRACE_C_61ST_(__VA_ARGS__)
#define TRACE_C_61ST_(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2, c3, c4, c5, c6, c7, c8, \
                      c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, \
                      f8, f9, found, ...)                                                                                               \
    found

#define TRACE_C_MANY_10 MANY_, MANY_, MANY_, MANY_, MANY_, MANY_, MANY_, MANY_, MANY_, MANY_
#define TRACE_C_MANY_23 TRACE_C_MANY_10, TRACE_C_MANY_10, MANY_, MANY_, MANY_
#define TRACE_C_SOME_10 SOME_, SOME_, SOME_, SOME_, SOME_, SOME_, SOME_, SOME_, SOME_, SOME_

/* How many pairs: a number, ODD_, or MANY_. */
#define TRACE_C_COUNT(...)                                                                                                     \
    TRACE_C_61ST(__VA_ARGS__, TRACE_C_MANY_23, MANY_, MANY_, MANY_, MANY_, MANY_, MANY_, 15, ODD_, 14, ODD_, 13, ODD_, 12, ODD_, \
                 11, ODD_, 10, ODD_, 9, ODD_, 8, ODD_, 7, ODD_, 6, ODD_, 5, ODD_, 4, ODD_, 3, ODD_, 2, ODD_, 1, ODD_, 0, ~)

/* Whether there are pairs: SOME_ or NONE_. */
#define TRACE_C_ANY(...)                                                                                                   \
    TRACE_C_61ST(__VA_ARGS__, TRACE_C_SOME_10, TRACE_C_SOME_10, TRACE_C_SOME_10, TRACE_C_SOME_10, TRACE_C_SOME_10, SOME_, SOME_, \
                 SOME_, SOME_, SOME_, SOME_, SOME_, SOME_, SOME_, NONE_, ~)

/* The error of a list that begins with this number of arguments and continues with pairs: FEW_, ODD_, MANY_, or GOOD_ for none. */
#define TRACE_C_PAIRS                                                                                                        \
    GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, \
        GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_, ODD_, GOOD_
#define TRACE_C_SHAPE_2(...) \
    TRACE_C_61ST(__VA_ARGS__, TRACE_C_MANY_23, MANY_, MANY_, MANY_, MANY_, TRACE_C_PAIRS, FEW_, FEW_, ~)
#define TRACE_C_SHAPE_3(...) \
    TRACE_C_61ST(__VA_ARGS__, TRACE_C_MANY_23, MANY_, MANY_, MANY_, TRACE_C_PAIRS, FEW_, FEW_, FEW_, ~)
#define TRACE_C_SHAPE_4(...) \
    TRACE_C_61ST(__VA_ARGS__, TRACE_C_MANY_23, MANY_, MANY_, TRACE_C_PAIRS, FEW_, FEW_, FEW_, FEW_, ~)
#define TRACE_C_SHAPE_5(...) \
    TRACE_C_61ST(__VA_ARGS__, TRACE_C_MANY_23, MANY_, TRACE_C_PAIRS, FEW_, FEW_, FEW_, FEW_, FEW_, ~)
#define TRACE_C_SHAPE_6(...) \
    TRACE_C_61ST(__VA_ARGS__, TRACE_C_MANY_23, TRACE_C_PAIRS, FEW_, FEW_, FEW_, FEW_, FEW_, FEW_, ~)

/* Expands a macro with a list of arguments, or reports an error in the list. */
#define TRACE_C_CALL_GOOD_(usage, macro, arguments) macro arguments
#define TRACE_C_CALL_FEW_(usage, macro, arguments) TRACE_C_WRONG(usage ": an argument is missing")
#define TRACE_C_CALL_ODD_(usage, macro, arguments) TRACE_C_WRONG(usage ": each key requires a value")
#define TRACE_C_CALL_MANY_(usage, macro, arguments) TRACE_C_WRONG(usage ": there are too many arguments")
#define TRACE_C_WRONG(text)        \
    do {                           \
        TRACE_C_ASSERT(0, text);   \
    } while (0)
/* m(key, value) for each pair. */
#define TRACE_C_EACH(m, ...) TRACE_C_JOIN(TRACE_C_EACH_, TRACE_C_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define TRACE_C_EACH_1(m, k, v, ...) m(k, v)
#define TRACE_C_EACH_2(m, k, v, ...) m(k, v) TRACE_C_EACH_1(m, __VA_ARGS__)
#define TRACE_C_EACH_3(m, k, v, ...) m(k, v) TRACE_C_EACH_2(m, __VA_ARGS__)
#define TRACE_C_EACH_4(m, k, v, ...) m(k, v) TRACE_C_EACH_3(m, __VA_ARGS__)
#define TRACE_C_EACH_5(m, k, v, ...) m(k, v) TRACE_C_EACH_4(m, __VA_ARGS__)
#define TRACE_C_EACH_6(m, k, v, ...) m(k, v) TRACE_C_EACH_5(m, __VA_ARGS__)
#define TRACE_C_EACH_7(m, k, v, ...) m(k, v) TRACE_C_EACH_6(m, __VA_ARGS__)
#define TRACE_C_EACH_8(m, k, v, ...) m(k, v) TRACE_C_EACH_7(m, __VA_ARGS__)
#define TRACE_C_EACH_9(m, k, v, ...) m(k, v) TRACE_C_EACH_8(m, __VA_ARGS__)
#define TRACE_C_EACH_10(m, k, v, ...) m(k, v) TRACE_C_EACH_9(m, __VA_ARGS__)
#define TRACE_C_EACH_11(m, k, v, ...) m(k, v) TRACE_C_EACH_10(m, __VA_ARGS__)
#define TRACE_C_EACH_12(m, k, v, ...) m(k, v) TRACE_C_EACH_11(m, __VA_ARGS__)
#define TRACE_C_EACH_13(m, k, v, ...) m(k, v) TRACE_C_EACH_12(m, __VA_ARGS__)
#define TRACE_C_EACH_14(m, k, v, ...) m(k, v) TRACE_C_EACH_13(m, __VA_ARGS__)
#define TRACE_C_EACH_15(m, k, v, ...) m(k, v) TRACE_C_EACH_14(m, __VA_ARGS__)

/* A counter has one value at least. */
#define TRACE_C_COUNTER_WITH(category, name, id, ...) \
    TRACE_C_JOIN(TRACE_C_COUNTER_, TRACE_C_ANY(__VA_ARGS__))(category, name, id, __VA_ARGS__)
#define TRACE_C_COUNTER_SOME_(category, name, id, ...)                          \
    do {                                                                       \
        TRACE_C_EACH(TRACE_C_EXPECT_NUMBER, __VA_ARGS__)                       \
        TRACE_C_EVENT_WITH(TRACE_C_COUNTER, category, name, id, __VA_ARGS__);  \
    } while (0)
#define TRACE_C_COUNTER_NONE_(...) TRACE_C_WRONG("TRACE_COUNTER(category, name, id, key, value, ...): a counter has at least one value")

/* Reports errors in words, instead of the compiler's message about an initializer. */
#define TRACE_C_EXPECT_TEXTS(category, name, ...)                                                                                 \
    TRACE_C_ASSERT(__builtin_constant_p(category) && __builtin_constant_p(name),                                                  \
                   "category and name of a trace point are string literals");                                                     \
    TRACE_C_JOIN(TRACE_C_EXPECT_KEYS_, TRACE_C_ANY(__VA_ARGS__))(__VA_ARGS__)
#define TRACE_C_EXPECT_KEYS_SOME_(...) TRACE_C_EACH(TRACE_C_EXPECT_KEY, __VA_ARGS__)
#define TRACE_C_EXPECT_KEYS_NONE_(...)
#define TRACE_C_EXPECT_KEY(key, value) TRACE_C_ASSERT(__builtin_constant_p(key), "the keys of a trace point are string literals");

/* The types of events, numbered as in the format, and a type for queries whether a category is on. */
enum trace_c_type {
    TRACE_C_INSTANT = 0,
    TRACE_C_COUNTER = 1,
    TRACE_C_DURATION_BEGIN = 2,
    TRACE_C_DURATION_END = 3,
    TRACE_C_ASYNC_BEGIN = 5,
    TRACE_C_ASYNC_INSTANT = 6,
    TRACE_C_ASYNC_END = 7,
    TRACE_C_FLOW_BEGIN = 8,
    TRACE_C_FLOW_STEP = 9,
    TRACE_C_FLOW_END = 10,
    TRACE_C_QUESTION = 255
};

#define TRACE_C_EVENT(type, category, name, ...) TRACE_C_EVENT_WITH(type, category, name, 0, __VA_ARGS__)
#define TRACE_C_EVENT_WITH(type, category, name, tail, ...) \
    TRACE_C_RECORD(trace_c_event(TRACE_C_THIS, TRACE_C_VALUES(__VA_ARGS__), tail), type, category, name, __VA_ARGS__)

struct trace_c_site;

void trace_c_event(const struct trace_c_site *site, const struct trace_c_argument *arguments, uint64_t tail);
void trace_c_alert(const char *name);
/* `track` is a result of trace_c_track(), or 0 for this thread. */
void trace_c_event_at(const struct trace_c_site *site, const struct trace_c_argument *arguments, uint64_t tail, uint64_t ticks,
                      uint64_t track);
uint64_t trace_c_track(const char *name, uint64_t id);

/*
 * TRACE_C_RECORD(call, type, category, name, key, value, ..., ~)
 *
 * Makes the call, which writes records of the site TRACE_C_THIS, if that is on.
 */
#ifdef NTRACE

#define TRACE_C_THIS NULL
#define TRACE_C_RECORD(call, type, category, name, ...)              \
    do {                                                             \
        TRACE_C_EXPECT_TEXTS(category, name, __VA_ARGS__)            \
        if (0) {                                                     \
            (void)("" category "" name "");                          \
            call;                                                    \
        }                                                            \
    } while (0)
#define TRACE_C_DURATION(scope, category, name, ...) TRACE_C_EVENT(TRACE_C_DURATION_BEGIN, category, name, __VA_ARGS__)
#define TRACE_C_IS_ON(category) ((void)("" category ""), false)

#else /* ---- Sites ---------------------------------------------------------------------------------------------------------------- */

/* The key of an argument. The library stores its number in the string table. */
struct TRACE_C_HIDDEN trace_c_key {
    const char *name;
    uint64_t reference;
};

/* The static of a trace point. The library stores the header: 0 while it is off. */
struct TRACE_C_HIDDEN trace_c_site {
    uint64_t header;
    const char *category;
    const char *name;
    const struct trace_c_key *keys;
    uint32_t key_count;
    uint32_t type;
};

/* An open duration. `at` is null while it is not recorded. */
struct trace_c_scope {
    const void *at;
    uint64_t rest[3];
};

void trace_c_begin(struct trace_c_scope *scope, const struct trace_c_site *site, const struct trace_c_argument *arguments);
void trace_c_end(struct trace_c_scope *scope);

TRACE_C_INLINE bool trace_c_is_on(const struct trace_c_site *site) {
    return __builtin_expect(__atomic_load_n(&site->header, __ATOMIC_RELAXED) != 0, 0);
}

/*
 * Puts a pointer to a site into the section that the module hands over. It is in the group of the
 * function that it belongs to, so that the linker drops it with other copies of an inline function.
 * GCC cannot do so with an attribute, clang not with `asm`. R keeps linkers from dropping the
 * section, which has no references.
 */
#if defined(__clang__)
#if __has_attribute(retain)
#define TRACE_C_LIST(site) static struct trace_c_site *const site##_listed __attribute__((used, retain, section("trace_c_sites"))) = &site
#else
#define TRACE_C_LIST(site) static struct trace_c_site *const site##_listed __attribute__((used, section("trace_c_sites"))) = &site
#endif
#else
#if __GNUC__ >= 11
#define TRACE_C_FLAGS "awR?"
#else
#define TRACE_C_FLAGS "aw?"
#endif
#ifdef __aarch64__
#define TRACE_C_SYMBOL "S"
#else
#define TRACE_C_SYMBOL "i"
#endif
#define TRACE_C_LIST(site)                                                                                                         \
    __asm__(".pushsection trace_c_sites,\"" TRACE_C_FLAGS "\",%%progbits\n.balign 8\n.dc.a %c0\n.popsection" : : TRACE_C_SYMBOL(&site))
#endif

#define TRACE_C_KEY(key, value) {"" key "", 0},
#define TRACE_C_SITE(site, type, category, name, ...) \
    TRACE_C_JOIN(TRACE_C_SITE_, TRACE_C_ANY(__VA_ARGS__))(site, type, category, name, __VA_ARGS__)
#define TRACE_C_SITE_NONE_(site, type, category, name, ...)                                   \
    static struct trace_c_site site = {0, "" category "", "" name "", NULL, 0, type}; \
    TRACE_C_LIST(site)
#define TRACE_C_SITE_SOME_(site, type, category, name, ...)                            \
    static struct trace_c_key site##_keys[] = {TRACE_C_EACH(TRACE_C_KEY, __VA_ARGS__)}; \
    TRACE_C_SITE_OF(site, type, category, name, site##_keys)
#define TRACE_C_SITE_OF(site, type, category, name, keys)                                                         \
    static struct trace_c_site site = {0, "" category "", "" name "", keys, sizeof keys / sizeof *keys, type};    \
    TRACE_C_LIST(site)

#define TRACE_C_THIS (&trace_c_here)
#define TRACE_C_RECORD(call, type, category, name, ...)                                                                            \
    do {                                                                                                                           \
        TRACE_C_EXPECT_TEXTS(category, name, __VA_ARGS__)                                                                          \
        TRACE_C_SITE(trace_c_here, type, category, name, __VA_ARGS__);                                                             \
        if (trace_c_is_on(&trace_c_here)) call;                                                                                    \
    } while (0)

#define TRACE_C_DURATION(scope, category, name, ...)                                                                               \
    TRACE_C_SCOPE(scope);                                                                                                          \
    do {                                                                                                                           \
        TRACE_C_EXPECT_TEXTS(category, name, __VA_ARGS__)                                                                          \
        TRACE_C_SITE(trace_c_here, TRACE_C_DURATION_BEGIN, category, name, __VA_ARGS__);                                           \
        if (trace_c_is_on(&trace_c_here)) trace_c_begin(&scope, &trace_c_here, TRACE_C_VALUES(__VA_ARGS__));                       \
    } while (0)

#define TRACE_C_IS_ON(category)                                                                                                    \
    __extension__({                                                                                                                \
        TRACE_C_EXPECT_TEXTS(category, "", ~)                                                                                      \
        TRACE_C_SITE_NONE_(trace_c_here, TRACE_C_QUESTION, category, "", ~);                                                        \
        trace_c_is_on(&trace_c_here);                                                                                              \
    })

#ifdef __cplusplus
} /* extern "C" */
struct trace_c_guard : trace_c_scope {
    trace_c_guard() { at = nullptr; }
    trace_c_guard(const trace_c_guard &) = delete;
    trace_c_guard &operator=(const trace_c_guard &) = delete;
    ~trace_c_guard() {
        if (at) trace_c_end(this);
    }
};
#define TRACE_C_SCOPE(scope) trace_c_guard scope
extern "C" {
#else
static inline void trace_c_close(struct trace_c_scope *scope) {
    if (scope->at) trace_c_end(scope);
}
#define TRACE_C_SCOPE(scope)                                                     \
    struct trace_c_scope scope __attribute__((cleanup(trace_c_close))); \
    scope.at = NULL
#endif

/* ---- The module: a program or a shared library. Each translation unit registers it; the first and the last call take effect. ---- */

extern struct trace_c_site *const __start_trace_c_sites[] __attribute__((weak, visibility("hidden")));
extern struct trace_c_site *const __stop_trace_c_sites[] __attribute__((weak, visibility("hidden")));

struct TRACE_C_HIDDEN trace_c_module {
    struct trace_c_module *next;
    struct trace_c_site *const *start, *const *stop;
    uint32_t version, users;
};

__attribute__((weak, visibility("hidden"))) struct trace_c_module trace_c_this_module = {
    NULL, __start_trace_c_sites, __stop_trace_c_sites, 1, 0};

void trace_c_load(struct trace_c_module *module);
void trace_c_unload(struct trace_c_module *module);

__attribute__((constructor)) static void trace_c_load_this(void) {
    if (trace_c_this_module.users++ == 0) trace_c_load(&trace_c_this_module);
}

__attribute__((destructor)) static void trace_c_unload_this(void) {
    if (--trace_c_this_module.users == 0) trace_c_unload(&trace_c_this_module);
}

#endif /* NTRACE */

#ifdef __cplusplus
}
#endif

#include "trace/blob.h"
#include "trace/instaflow.h"
#include "trace/object.h"
#include "trace/vthread.h"

#endif /* TRACE_H */
