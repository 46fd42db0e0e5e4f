// Adds up the durations of an archive by name: `totals app.fxt`.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <trace_reader.h>

struct Total {
    uint64_t count;
    uint64_t nanoseconds;
};

static std::string text(const trace_text &text) { return std::string(text.data, text.size); }

int main(int argc, char **argv) {
    std::unique_ptr<trace_reader, void (*)(trace_reader *)> reader(trace_reader_open(argc == 2 ? argv[1] : nullptr), trace_reader_close);
    std::map<std::string, Total> totals;
    const trace_record *record;
    while (trace_reader_result result = trace_reader_next(reader.get(), &record)) {
        if (result == TRACE_READER_ERROR) {
            const trace_read_error *error = trace_reader_error(reader.get());
            std::fprintf(stderr, "totals: %s\n", error->message);
            if (error->is_fatal) return 1;
        } else if (record->type == TRACE_RECORD_EVENT && record->event.type == TRACE_EVENT_DURATION_COMPLETE) {
            Total &total = totals[text(record->event.category) + "/" + text(record->event.name)];
            total.count += 1;
            total.nanoseconds += record->event.end.nanoseconds - record->event.time.nanoseconds;
        }
    }
    for (const auto &total : totals)
        std::printf("%8llu %12.3f us  %s\n", static_cast<unsigned long long>(total.second.count),
                    static_cast<double>(total.second.nanoseconds) / 1e3, total.first.c_str());
}
