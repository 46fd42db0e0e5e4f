/*
 * A reader of trace archives (FXT) for C (C11) and C++ (C++11).
 *
 *     #include <trace_reader.h>
 *
 *     trace_reader *reader = trace_reader_open("app.fxt");
 *     const struct trace_record *record;
 *     enum trace_reader_result result;
 *     while ((result = trace_reader_next(reader, &record)) != TRACE_READER_END) {
 *         if (result == TRACE_READER_ERROR)
 *             fprintf(stderr, "%s\n", trace_reader_error(reader)->message);
 *         else if (record->type == TRACE_RECORD_EVENT)
 *             printf("%" PRIu64 " ns: %s\n", record->event.time.nanoseconds, record->event.name.data);
 *     }
 *     trace_reader_close(reader);
 *
 * Link with libtrace_reader_c.a and -lpthread -ldl -lm. A program that only traces does not need it.
 *
 * The strings, threads and times of a record are resolved with the tables of its provider. Texts
 * are UTF-8 (other bytes become U+FFFD) and end with a zero. The data of a record is valid until
 * the next call with the same reader.
 *
 * Archives may be damaged or hostile: all sizes and references in them are checked, and memory
 * grows with the bytes that are read. Readers have no global state. Only one thread at a time may
 * use a reader.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trace_reader trace_reader;

/* A text: `size` bytes, followed by a zero. */
struct trace_text {
    const char *data;
    size_t size;
};

struct trace_bytes {
    const uint8_t *data;
    size_t size;
};

/* A time in ticks of the provider, and in nanoseconds of its clock. */
struct trace_time {
    uint64_t ticks;
    uint64_t nanoseconds;
};

/* A thread; both koids are 0 if it is unknown. */
struct trace_thread {
    uint64_t process;
    uint64_t thread;
};

struct trace_provider {
    bool is_known; /* false for records before the first provider */
    uint32_t id;
    struct trace_text name;
    uint64_t ticks_per_second;
};

enum trace_argument_type {
    TRACE_ARGUMENT_NULL = 0,
    TRACE_ARGUMENT_INT32 = 1,
    TRACE_ARGUMENT_UINT32 = 2,
    TRACE_ARGUMENT_INT64 = 3,
    TRACE_ARGUMENT_UINT64 = 4,
    TRACE_ARGUMENT_DOUBLE = 5,
    TRACE_ARGUMENT_STRING = 6,
    TRACE_ARGUMENT_POINTER = 7,
    TRACE_ARGUMENT_KOID = 8,
    TRACE_ARGUMENT_BOOL = 9,
    TRACE_ARGUMENT_BLOB = 10
};

struct trace_argument {
    struct trace_text name;
    uint32_t type; /* enum trace_argument_type */
    union {
        int32_t int32;
        uint32_t uint32;
        int64_t int64;
        uint64_t uint64;
        double number; /* TRACE_ARGUMENT_DOUBLE */
        struct trace_text string;
        uint64_t pointer;
        uint64_t koid;
        bool boolean;
        struct trace_bytes blob;
    };
};

enum trace_record_type {
    TRACE_RECORD_MAGIC_NUMBER = 0,
    TRACE_RECORD_PROVIDER_INFO = 1,    /* number: the provider's id; text: its name */
    TRACE_RECORD_PROVIDER_SECTION = 2, /* number: the provider's id */
    TRACE_RECORD_PROVIDER_EVENT = 3,   /* number: the provider's id; kind: 0 if its buffer was full */
    TRACE_RECORD_INITIALIZATION = 4,   /* number: ticks per second */
    TRACE_RECORD_STRING = 5,           /* number: the index; text */
    TRACE_RECORD_THREAD = 6,           /* number: the index; thread */
    TRACE_RECORD_EVENT = 7,
    TRACE_RECORD_BLOB = 8,
    TRACE_RECORD_USERSPACE_OBJECT = 9,
    TRACE_RECORD_KERNEL_OBJECT = 10,
    TRACE_RECORD_LEGACY_CONTEXT_SWITCH = 11,
    TRACE_RECORD_CONTEXT_SWITCH = 12,
    TRACE_RECORD_THREAD_WAKEUP = 13,
    TRACE_RECORD_LOG = 14,
    TRACE_RECORD_MODULE = 15,
    TRACE_RECORD_MMAP = 16,
    TRACE_RECORD_BACKTRACE = 17,
    TRACE_RECORD_LARGE_BLOB = 18,
    TRACE_RECORD_UNKNOWN = 19 /* of a type that this reader does not know */
};

enum trace_event_type {
    TRACE_EVENT_INSTANT = 0,
    TRACE_EVENT_COUNTER = 1,
    TRACE_EVENT_DURATION_BEGIN = 2,
    TRACE_EVENT_DURATION_END = 3,
    TRACE_EVENT_DURATION_COMPLETE = 4,
    TRACE_EVENT_ASYNC_BEGIN = 5,
    TRACE_EVENT_ASYNC_INSTANT = 6,
    TRACE_EVENT_ASYNC_END = 7,
    TRACE_EVENT_FLOW_BEGIN = 8,
    TRACE_EVENT_FLOW_STEP = 9,
    TRACE_EVENT_FLOW_END = 10
};

enum trace_event_scope { TRACE_EVENT_SCOPE_THREAD = 0, TRACE_EVENT_SCOPE_PROCESS = 1, TRACE_EVENT_SCOPE_GLOBAL = 2, TRACE_EVENT_SCOPE_NONE = 3 };

/* Records about tables, providers and the clock: see enum trace_record_type. */
struct trace_table_record {
    uint64_t number;
    uint32_t kind;
    struct trace_text text;
    struct trace_thread thread;
};

struct trace_event_record {
    uint32_t type; /* enum trace_event_type */
    uint32_t scope; /* enum trace_event_scope, of an instant */
    struct trace_time time;
    struct trace_time end; /* of a complete duration */
    struct trace_thread thread;
    struct trace_text category;
    struct trace_text name;
    uint64_t id; /* of a counter, an async operation or a flow */
};

struct trace_blob_record {
    uint32_t type; /* 1 data, 2 last branch, 3 Perfetto */
    struct trace_text name;
    struct trace_bytes bytes;
};

struct trace_large_blob_record {
    bool is_event; /* whether it has a time, a thread and arguments */
    struct trace_time time;
    struct trace_thread thread;
    struct trace_text category;
    struct trace_text name;
    struct trace_bytes bytes;
};

struct trace_object_record {
    uint64_t process; /* of a userspace object */
    uint64_t id;      /* the pointer, or the koid */
    uint32_t type;    /* of a kernel object: 1 process, 2 thread */
    struct trace_text name;
};

struct trace_scheduling_record {
    struct trace_time time;
    uint32_t cpu;
    uint32_t outgoing_state; /* 0 new, 1 running, 2 suspended, 3 blocked, 4 dying, 5 dead */
    struct trace_thread outgoing; /* only the legacy record has processes */
    struct trace_thread incoming; /* also the thread of a wake-up */
    uint32_t outgoing_priority;   /* of the legacy record */
    uint32_t incoming_priority;
};

struct trace_log_record {
    struct trace_time time;
    struct trace_thread thread;
    struct trace_text message;
};

/* A module, or a mapping of one. */
struct trace_module_record {
    struct trace_time time;
    uint64_t process;
    uint32_t module_id;
    uint32_t flags; /* of a mapping: 1 readable, 2 writable, 4 executable */
    struct trace_text name;
    struct trace_bytes build_id;
    uint64_t start;
    uint64_t length;
    uint64_t module_address;
};

struct trace_backtrace_record {
    struct trace_time time;
    struct trace_thread thread;
    const uint64_t *frames;
    size_t frame_count;
};

struct trace_unknown_record {
    uint64_t header;
    struct trace_bytes payload;
};

/* A record. `arguments` are those of events, objects, context switches, wake-ups and large blobs. */
struct trace_record {
    uint32_t type;   /* enum trace_record_type */
    uint64_t offset; /* of the record, in bytes from the archive's start */
    const struct trace_provider *provider;
    const struct trace_argument *arguments;
    size_t argument_count;
    union {
        struct trace_table_record table;
        struct trace_event_record event;
        struct trace_blob_record blob;
        struct trace_large_blob_record large_blob;
        struct trace_object_record object;
        struct trace_scheduling_record scheduling;
        struct trace_log_record log;
        struct trace_module_record module;
        struct trace_backtrace_record backtrace;
        struct trace_unknown_record unknown;
    };
};

enum trace_reader_code {
    TRACE_READER_IO = 1,                 /* the input cannot be read */
    TRACE_READER_NOT_AN_ARCHIVE = 2,
    TRACE_READER_BAD_RECORD = 3,         /* reading can continue */
    TRACE_READER_RECORD_TOO_LARGE = 4,   /* reading can continue */
    TRACE_READER_TRUNCATED = 5,          /* the archive ends within a record */
    TRACE_READER_SIZE_ZERO = 6,          /* a record has no size: the next one cannot be found */
    TRACE_READER_TOO_MANY_PROVIDERS = 7,
    TRACE_READER_OTHER = 8
};

struct trace_read_error {
    uint32_t code; /* enum trace_reader_code */
    bool is_fatal; /* no record follows */
    uint64_t offset; /* of the record, in bytes from the archive's start */
    const char *message;
};

struct trace_read_stats {
    uint64_t records;
    uint64_t unknown_records;
    uint64_t bad_records;
    uint64_t unknown_string_refs; /* strings that are "<unknown string>" */
    uint64_t unknown_thread_refs;
};

enum trace_reader_result { TRACE_READER_END = 0, TRACE_READER_RECORD = 1, TRACE_READER_ERROR = 2 };

/* Opens a file. A file that cannot be opened is an error of the first trace_reader_next(). Never NULL; close it. */
trace_reader *trace_reader_open(const char *path);

/* Reads an archive in memory, which must not change until the reader is closed. Never NULL; close it. */
trace_reader *trace_reader_from_bytes(const void *bytes, size_t size);

/*
 * Reads the next record. TRACE_READER_RECORD: it is in `*record`. TRACE_READER_ERROR:
 * trace_reader_error() returns the reason. The next call returns TRACE_READER_END if the error is
 * fatal.
 */
enum trace_reader_result trace_reader_next(trace_reader *reader, const struct trace_record **record);

/* Returns the error of the last trace_reader_next(), or NULL. */
const struct trace_read_error *trace_reader_error(const trace_reader *reader);

/* Returns the statistics so far. */
struct trace_read_stats trace_reader_stats(const trace_reader *reader);

/* Closes a reader. NULL is ignored. */
void trace_reader_close(trace_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
