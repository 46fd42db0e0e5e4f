/* Trace points in functions with copies in several translation units. */
#include <trace.h>

inline int inlined(int unit) {
    TRACE_INSTANT("units", "inlined", TRACE_SCOPE_THREAD, "unit", unit);
    return unit;
}

template <typename T>
T instance(T unit) {
    TRACE_INSTANT("units", "instance", TRACE_SCOPE_THREAD, "unit", unit);
    return unit;
}

struct Class {
    int member(int unit) const {
        TRACE_DURATION("units", "member", "unit", unit);
        return inlined(unit);
    }
};

static int copied(int unit) {
    TRACE_INSTANT("units", "copied", TRACE_SCOPE_THREAD, "unit", unit);
    return unit;
}

inline void record_unit(int unit) {
    instance(unit);
    Class().member(unit);
}

void second();
extern "C" void third(void);
