/* Traces itself, and reads the archive. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <trace.h>
#include <trace_reader.h>

static void read_archive(const char *path) {
    trace_reader *reader = trace_reader_open(path);
    const struct trace_record *record;
    enum trace_reader_result result;
    while ((result = trace_reader_next(reader, &record)) != TRACE_READER_END) {
        if (result == TRACE_READER_ERROR)
            printf("%" PRIu32 " %s\n", trace_reader_error(reader)->code, trace_reader_error(reader)->message);
        else if (record->type == TRACE_RECORD_EVENT && strcmp(record->event.category.data, "trace") != 0)
            printf("%s %s=%" PRId32 "\n", record->event.name.data, record->arguments->name.data, record->arguments->int32);
    }
    if (trace_reader_stats(reader).bad_records != 0) abort();
    trace_reader_close(reader);
}

int main(void) {
    trace_init();
    TRACE_INSTANT("both", "traced", TRACE_SCOPE_THREAD, "number", 3);
    trace_shutdown();
    read_archive(getenv("TRACE_OUTPUT"));
    read_archive("/missing");
    read_archive("/proc/self/exe");
    read_archive(NULL);
    return 0;
}
