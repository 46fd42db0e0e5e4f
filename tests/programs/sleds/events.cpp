// A program in C++ with custom and typed events, linked without LLVM's runtime.

#include <cstdio>
#include <cstring>
#include <thread>

// The sleds of events call these until they are patched.
extern "C" void __xray_CustomEvent() {}
extern "C" void __xray_TypedEvent() {}

#define FUNCTION __attribute__((noinline, xray_always_instrument))

namespace app {

// Values of all kinds are live across the events.
FUNCTION double mixed(double a, double b, double c, double d, long n, const char *data, size_t size) {
    double products[10];
    for (int i = 0; i < 10; i++) {
        products[i] = a * i + b;
    }
    bool is_less = n < 50;
    __xray_customevent(data, size);
    double sum = is_less ? a : b;
    __xray_typedevent(42, data, size);
    for (int i = 0; i < 10; i++) {
        sum += products[i] * c - d * n;
    }
    return sum + n;
}

FUNCTION void binary(long, long, const char *data, size_t size) {
    __xray_customevent(data, size);
    __xray_typedevent(65535, data, size);
}

// Clang moves the type over the address, and the address over the size: the sled is refused.
FUNCTION void overwritten(const char *data, size_t size) { __xray_typedevent(7, data, size); }

FUNCTION void throws() { throw 1; }

// The exception has ended `throws` without an exit, at the depth of the event's own call.
FUNCTION void catches(long, long, const char *data, size_t size) {
    try {
        throws();
    } catch (int) {
    }
    __xray_typedevent(43, data, size);
}

FUNCTION void empty() { __xray_customevent("", 0); }

} // namespace app

static void run(double *sum) {
    for (long n = 0; n < 100; n++) {
        char text[20];
        snprintf(text, sizeof text, "event %ld", n);
        *sum += app::mixed(n, 0.5, 1.5, 2.5, n, text, strlen(text));
    }
}

int main() {
    double sums[2] = {};
    std::thread other(run, &sums[0]);
    run(&sums[1]);
    other.join();
    printf("%.1f %.1f\n", sums[0], sums[1]);
    app::binary(0, 0, "\xff\0\xfe", 3);
    // Longer than a record of the trace format.
    static char large[40000];
    memset(large, 0x80, sizeof large);
    app::binary(0, 0, large, sizeof large);
    static char text[33000];
    memset(text, 'a', sizeof text);
    app::binary(0, 0, text, sizeof text);
    app::catches(0, 0, "caught", 6);
    // Called with any arguments, as far as the compiler knows.
    void (*volatile overwritten)(const char *, size_t) = app::overwritten;
    overwritten("text", 4);
    app::empty();
}
