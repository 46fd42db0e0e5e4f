#include "points.h"

#include <stdexcept>
#include <string>
#include <vector>

enum class Color : unsigned char { red = 3 };
enum plain { zero, one };

static int fail() { throw std::runtime_error("no value"); }

static void throwing(int depth) {
    TRACE_DURATION("cxx", "unwound", "depth", depth);
    if (depth == 0) throw std::runtime_error("the end");
    throwing(depth - 1);
}

template <typename T>
static T traced(T value) {
    TRACE_DURATION("cxx", "template", "value", value);
    auto lambda = [&] {
        TRACE_INSTANT("cxx", "lambda", TRACE_SCOPE_THREAD);
        return value;
    };
    return lambda();
}

struct Early {
    Early() { TRACE_INSTANT("cxx", "before main", TRACE_SCOPE_THREAD); }
} early;

static void record_more() {
    const std::vector<char> chars{'a', 'b'};
    TRACE_INSTANT("cxx", "values", TRACE_SCOPE_THREAD, "string", std::string("a temporary") + ", alive", "c_str", std::string("so is this").c_str(),
                  "chars", chars, "class", Color::red, "enum", one, "nullptr", nullptr);
    traced(1);
    traced(2.5);
    try {
        throwing(2);
    } catch (const std::runtime_error &) {
    }
    try {
        TRACE_DURATION("cxx", "never begun", "value", fail());
    } catch (const std::runtime_error &) {
        TRACE_INSTANT("cxx", "caught", TRACE_SCOPE_THREAD);
    }
}

int main() {
    trace_init_named("points in C++");
    record_all();
    record_more();
    raise_alerts();
    say();
    trace_shutdown();
}
