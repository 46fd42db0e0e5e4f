/* Prints each record of an archive on a line, as `trace dump` does: `dump app.fxt`. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace_reader.h>

static void print_text(struct trace_text text) {
    putchar('"');
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        switch (byte) {
            case '"': fputs("\\\"", stdout); break;
            case '\\': fputs("\\\\", stdout); break;
            case '\n': fputs("\\n", stdout); break;
            case '\r': fputs("\\r", stdout); break;
            case '\t': fputs("\\t", stdout); break;
            case 0: fputs("\\0", stdout); break;
            default: byte < 32 || byte == 127 ? (void)printf("\\u{%x}", byte) : (void)putchar(byte);
        }
    }
    putchar('"');
}

static void print_quoted(struct trace_text text) {
    putchar(' ');
    print_text(text);
}

static void print_time(struct trace_time time) {
    printf(" %" PRIu64 ".%09" PRIu64 "s", time.nanoseconds / 1000000000, time.nanoseconds % 1000000000);
}

static void print_thread(struct trace_thread thread) { printf(" %" PRIu64 "/%" PRIu64, thread.process, thread.thread); }

/* Prints the shortest number that parses to the same double. */
static void print_double(double number) {
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    printf(strpbrk(text, ".en") ? "%s" : "%s.0", text);
}

static void print_value(const struct trace_argument *argument) {
    switch (argument->type) {
        case TRACE_ARGUMENT_NULL: fputs(" null", stdout); break;
        case TRACE_ARGUMENT_INT32: printf(" %" PRId32, argument->int32); break;
        case TRACE_ARGUMENT_UINT32: printf(" %" PRIu32, argument->uint32); break;
        case TRACE_ARGUMENT_INT64: printf(" %" PRId64, argument->int64); break;
        case TRACE_ARGUMENT_UINT64: printf(" %" PRIu64, argument->uint64); break;
        case TRACE_ARGUMENT_DOUBLE: putchar(' '), print_double(argument->number); break;
        case TRACE_ARGUMENT_STRING: print_quoted(argument->string); break;
        case TRACE_ARGUMENT_POINTER: printf(" 0x%" PRIx64, argument->pointer); break;
        case TRACE_ARGUMENT_KOID: printf(" #%" PRIu64, argument->koid); break;
        case TRACE_ARGUMENT_BOOL: fputs(argument->boolean ? " true" : " false", stdout); break;
        case TRACE_ARGUMENT_BLOB: printf(" <%zu bytes>", argument->blob.size); break;
        default: break;
    }
}

/* Returns whether an argument is the id of an async operation. */
static int is_operation_id(struct trace_text name) {
    static const char *const names[] = {"parent", "task", "follows_from"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name.size == strlen(names[i]) && memcmp(name.data, names[i], name.size) == 0) return 1;
    return 0;
}

static void print_arguments(const struct trace_record *record) {
    for (size_t i = 0; i < record->argument_count; i++) {
        const struct trace_argument *argument = &record->arguments[i];
        fputs(i == 0 ? " {" : ", ", stdout);
        print_text(argument->name);
        putchar(':');
        print_value(argument);
        if (argument->type == TRACE_ARGUMENT_UINT64 && is_operation_id(argument->name)) printf(" (0x%" PRIx64 ")", argument->uint64);
    }
    if (record->argument_count > 0) putchar('}');
}

static void print_event(const struct trace_event_record *event) {
    static const char *const types[] = {"instant",     "counter",       "duration-begin", "duration-end", "duration-complete", "async-begin",
                                        "async-instant", "async-end",     "flow-begin",     "flow-step",    "flow-end"};
    static const char *const scopes[] = {" thread", " process", " global", ""};
    fputs(types[event->type], stdout);
    print_thread(event->thread);
    print_time(event->time);
    print_quoted(event->category);
    print_quoted(event->name);
    if (event->type == TRACE_EVENT_INSTANT)
        fputs(scopes[event->scope], stdout);
    else if (event->type == TRACE_EVENT_COUNTER || event->type >= TRACE_EVENT_ASYNC_BEGIN)
        printf(" id %" PRIu64 " (0x%" PRIx64 ")", event->id, event->id);
    else if (event->type == TRACE_EVENT_DURATION_COMPLETE && event->end.nanoseconds < event->time.nanoseconds)
        printf(" ends before its start, at tick %" PRIu64, event->end.ticks);
    else if (event->type == TRACE_EVENT_DURATION_COMPLETE)
        printf(" %" PRIu64 "ns", event->end.nanoseconds - event->time.nanoseconds);
}

static void print_state(uint32_t state) {
    static const char *const names[] = {"new", "running", "suspended", "blocked", "dying", "dead"};
    if (state < 6) printf(" %s", names[state]);
    else printf(" state %" PRIu32, state);
}

static void print_scheduling(uint32_t type, const struct trace_scheduling_record *record) {
    printf(type == TRACE_RECORD_THREAD_WAKEUP ? "thread-wakeup cpu %" PRIu32 : "context-switch cpu %" PRIu32, record->cpu);
    print_time(record->time);
    if (type == TRACE_RECORD_THREAD_WAKEUP) {
        printf(" #%" PRIu64, record->incoming.thread);
        return;
    }
    fputs(" from", stdout);
    if (type == TRACE_RECORD_CONTEXT_SWITCH) printf(" #%" PRIu64, record->outgoing.thread);
    else print_thread(record->outgoing);
    print_state(record->outgoing_state);
    if (type == TRACE_RECORD_CONTEXT_SWITCH) {
        printf(" to #%" PRIu64, record->incoming.thread);
        return;
    }
    printf(" priority %" PRIu32 " to", record->outgoing_priority);
    print_thread(record->incoming);
    printf(" priority %" PRIu32, record->incoming_priority);
}

static void print_object(uint32_t type, const struct trace_object_record *object) {
    if (type == TRACE_RECORD_USERSPACE_OBJECT)
        printf("userspace-object process %" PRIu64 " 0x%" PRIx64, object->process, object->id);
    else if (object->type == 1 || object->type == 2)
        printf("kernel-object %s #%" PRIu64, object->type == 1 ? "process" : "thread", object->id);
    else
        printf("kernel-object type %" PRIu32 " #%" PRIu64, object->type, object->id);
    print_quoted(object->name);
}

static void print_blob(const struct trace_blob_record *blob) {
    static const char *const types[] = {"", " data", " last-branch", " perfetto"};
    fputs("blob", stdout);
    print_quoted(blob->name);
    if (blob->type >= 1 && blob->type <= 3) fputs(types[blob->type], stdout);
    else printf(" type %" PRIu32, blob->type);
    printf(" %zu bytes", blob->bytes.size);
}

static void print_large_blob(const struct trace_large_blob_record *blob) {
    fputs("large-blob", stdout);
    if (blob->is_event) print_thread(blob->thread), print_time(blob->time);
    print_quoted(blob->category);
    print_quoted(blob->name);
    printf(" %zu bytes", blob->bytes.size);
}

static void print_module(uint32_t type, const struct trace_module_record *module) {
    printf(type == TRACE_RECORD_MODULE ? "module process %" PRIu64 : "mmap process %" PRIu64, module->process);
    print_time(module->time);
    printf(" module %" PRIu32, module->module_id);
    if (type == TRACE_RECORD_MMAP) {
        printf(" flags %" PRIu32 " start 0x%" PRIx64 " length 0x%" PRIx64 " module address 0x%" PRIx64, module->flags, module->start,
               module->length, module->module_address);
        return;
    }
    print_quoted(module->name);
    fputs(" build id ", stdout);
    for (size_t i = 0; i < module->build_id.size; i++) printf("%02x", module->build_id.data[i]);
}

static void print_backtrace(const struct trace_backtrace_record *backtrace) {
    fputs("backtrace", stdout);
    print_thread(backtrace->thread);
    print_time(backtrace->time);
    for (size_t i = 0; i < backtrace->frame_count; i++) printf(" 0x%" PRIx64, backtrace->frames[i]);
}

static void print_log(const struct trace_log_record *log) {
    fputs("log", stdout);
    print_thread(log->thread);
    print_time(log->time);
    print_quoted(log->message);
}

static void print_table(uint32_t type, const struct trace_table_record *table) {
    switch (type) {
        case TRACE_RECORD_MAGIC_NUMBER: fputs("magic-number", stdout); break;
        case TRACE_RECORD_PROVIDER_INFO: printf("provider-info %" PRIu64, table->number), print_quoted(table->text); break;
        case TRACE_RECORD_PROVIDER_SECTION: printf("provider-section %" PRIu64, table->number); break;
        case TRACE_RECORD_PROVIDER_EVENT:
            printf("provider-event %" PRIu64, table->number);
            if (table->kind == 0) fputs(" buffer-full", stdout);
            else printf(" event %" PRIu32, table->kind);
            break;
        case TRACE_RECORD_INITIALIZATION: printf("initialization %" PRIu64 " ticks/s", table->number); break;
        case TRACE_RECORD_STRING: printf("string %" PRIu64, table->number), print_quoted(table->text); break;
        default: printf("thread %" PRIu64, table->number), print_thread(table->thread); break;
    }
}

static void print_record(const struct trace_record *record) {
    printf("%10" PRIu64 " ", record->offset);
    if (record->provider->is_known) printf("%" PRIu32 " ", record->provider->id);
    else fputs("- ", stdout);
    switch (record->type) {
        case TRACE_RECORD_EVENT: print_event(&record->event); break;
        case TRACE_RECORD_BLOB: print_blob(&record->blob); break;
        case TRACE_RECORD_USERSPACE_OBJECT:
        case TRACE_RECORD_KERNEL_OBJECT: print_object(record->type, &record->object); break;
        case TRACE_RECORD_LEGACY_CONTEXT_SWITCH:
        case TRACE_RECORD_CONTEXT_SWITCH:
        case TRACE_RECORD_THREAD_WAKEUP: print_scheduling(record->type, &record->scheduling); break;
        case TRACE_RECORD_LOG: print_log(&record->log); break;
        case TRACE_RECORD_MODULE:
        case TRACE_RECORD_MMAP: print_module(record->type, &record->module); break;
        case TRACE_RECORD_BACKTRACE: print_backtrace(&record->backtrace); break;
        case TRACE_RECORD_LARGE_BLOB: print_large_blob(&record->large_blob); break;
        case TRACE_RECORD_UNKNOWN:
            printf("unknown type %u header 0x%016" PRIx64 " and %zu bytes", (unsigned)(record->unknown.header & 15), record->unknown.header,
                   record->unknown.payload.size);
            break;
        default: print_table(record->type, &record->table); break;
    }
    print_arguments(record);
    putchar('\n');
}

int main(int argc, char **argv) {
    trace_reader *reader = trace_reader_open(argc == 2 ? argv[1] : NULL);
    const struct trace_record *record;
    enum trace_reader_result result;
    int status = 0;
    while ((result = trace_reader_next(reader, &record)) != TRACE_READER_END) {
        if (result == TRACE_READER_RECORD) {
            print_record(record);
        } else {
            fprintf(stderr, "dump: %s\n", trace_reader_error(reader)->message);
            status = 1;
        }
    }
    trace_reader_close(reader);
    return status;
}
