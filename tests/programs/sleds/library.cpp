// A shared library in C++ with custom and typed events, linked without LLVM's runtime.

#include <cstdio>

// The sleds of events call these until they are patched.
extern "C" void __xray_CustomEvent() {}
extern "C" void __xray_TypedEvent() {}

#define FUNCTION __attribute__((noinline, xray_always_instrument))

namespace library {

// Its result is in a register of the x87 unit.
FUNCTION long double half(unsigned long n) { return n / 2.0L; }

} // namespace library

// Returns n + 1. Both events have n, and the lowest bits of it are the type.
extern "C" FUNCTION unsigned long library_function(unsigned long n) {
    char text[32];
    int size = snprintf(text, sizeof text, "event %lu", n);
    long double half = library::half(n);
    __xray_customevent(text, size);
    __xray_typedevent(n & 0xffff, text, size);
    return static_cast<unsigned long>(half * 2) + 1;
}
