/* Reads an archive truncated at each byte, and with random bytes in it. Only errors may occur. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace_reader.h>

static uint64_t sum;

/* Reads each byte that a record points to. */
static void look_at(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) sum += ((const unsigned char *)bytes)[i];
}

static void look_at_text(struct trace_text text) {
    look_at(text.data, text.size + 1);
    if (text.data[text.size] != 0) abort();
}

static void look_at_record(const struct trace_record *record) {
    look_at_text(record->provider->name);
    for (size_t i = 0; i < record->argument_count; i++) {
        const struct trace_argument *argument = &record->arguments[i];
        look_at_text(argument->name);
        if (argument->type == TRACE_ARGUMENT_STRING) look_at_text(argument->string);
        if (argument->type == TRACE_ARGUMENT_BLOB) look_at(argument->blob.data, argument->blob.size);
    }
    switch (record->type) {
        case TRACE_RECORD_EVENT: look_at_text(record->event.category), look_at_text(record->event.name); break;
        case TRACE_RECORD_BLOB: look_at_text(record->blob.name), look_at(record->blob.bytes.data, record->blob.bytes.size); break;
        case TRACE_RECORD_LARGE_BLOB: look_at(record->large_blob.bytes.data, record->large_blob.bytes.size); break;
        case TRACE_RECORD_USERSPACE_OBJECT:
        case TRACE_RECORD_KERNEL_OBJECT: look_at_text(record->object.name); break;
        case TRACE_RECORD_LOG: look_at_text(record->log.message); break;
        case TRACE_RECORD_MODULE: look_at_text(record->module.name), look_at(record->module.build_id.data, record->module.build_id.size); break;
        case TRACE_RECORD_BACKTRACE: look_at(record->backtrace.frames, record->backtrace.frame_count * 8); break;
        case TRACE_RECORD_UNKNOWN: look_at(record->unknown.payload.data, record->unknown.payload.size); break;
        case TRACE_RECORD_STRING: look_at_text(record->table.text); break;
        default: break;
    }
}

static uint64_t read_all(const void *bytes, size_t size) {
    trace_reader *reader = trace_reader_from_bytes(bytes, size);
    const struct trace_record *record;
    enum trace_reader_result result;
    uint64_t errors = 0;
    while ((result = trace_reader_next(reader, &record)) != TRACE_READER_END) {
        if ((result == TRACE_READER_RECORD) != (record != NULL) || (trace_reader_error(reader) != NULL) != (record == NULL)) abort();
        if (record) {
            look_at_record(record);
        } else {
            errors++;
            if (trace_reader_error(reader)->offset > size || strlen(trace_reader_error(reader)->message) < 10) abort();
        }
    }
    if (trace_reader_next(reader, &record) != TRACE_READER_END || record != NULL) abort();
    trace_reader_close(reader);
    return errors;
}

static uint64_t random_number(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

int main(int argc, char **argv) {
    static unsigned char archive[1 << 16];
    uint64_t errors = 0;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) return 1;
    size_t size = fread(archive, 1, sizeof archive, file);
    fclose(file);
    if (read_all(archive, size) != 0) return 2;
    for (size_t cut = 0; cut < size; cut++) {
        unsigned char *copy = malloc(cut + 1); /* Of this size, so that a sanitizer knows the end. */
        memcpy(copy, archive, cut);
        errors += read_all(copy, cut);
        free(copy);
    }
    for (int round = 0; round < 3000; round++) {
        unsigned char *copy = malloc(size);
        memcpy(copy, archive, size);
        for (uint64_t changes = random_number() % 8 + 1; changes; changes--) copy[random_number() % size] = (unsigned char)random_number();
        errors += read_all(copy, size);
        free(copy);
    }
    trace_reader_close(NULL);
    printf("%d\n", errors > size / 2);
    return 0;
}
