// A program in C++ that is built with sleds, and linked without LLVM's runtime.

#include <cstdio>
#include <stdexcept>
#include <thread>

// Not inlined, and not computed by the compiler.
#define FUNCTION __attribute__((noinline, optnone))

extern "C" FUNCTION long c_function(long n) { return n + 1; }

// Its first argument is recorded.
extern "C" FUNCTION __attribute__((xray_always_instrument, xray_log_args(1))) long
c_with_argument(long n, double half) {
    return n + long(2 * half);
}

// What app::wide() returns.
const double WIDE = 1339200;

namespace app {

struct Shape {
    virtual ~Shape() = default;
    virtual double area(double scale) const = 0;
};

struct Square : Shape {
    double side = 2;
    FUNCTION double area(double scale) const override { return side * side * scale; }
};

FUNCTION long thrower(long n) {
    if (n % 2) {
        throw std::runtime_error("odd");
    }
    return c_function(n);
}

FUNCTION long catcher(long n) {
    try {
        return thrower(n);
    } catch (const std::exception &) {
        return -1;
    }
}

typedef double Eight __attribute__((vector_size(64)));

// All vector registers that can have arguments.
__attribute__((noinline, target("avx512f"))) Eight added(Eight a, Eight b, Eight c, Eight d, Eight e,
                                                         Eight f, Eight g, Eight h) {
    asm volatile("" ::: "memory");
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

__attribute__((noinline, target("avx512f"))) double wide() {
    Eight n = {1, 2, 3, 4, 5, 6, 7, 8};
    Eight sum = {};
    for (int i = 0; i < 100; i++) {
        sum += added(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7);
    }
    double total = 0;
    for (int i = 0; i < 8; i++) {
        total += sum[i] * (i + 1);
    }
    return total;
}

template <typename T> FUNCTION T sum(T a, T b) { return a + b; }

} // namespace app

FUNCTION void run() {
    long caught = 0;
    for (long n = 0; n < 100; n++) {
        caught += app::catcher(n) < 0;
        caught += c_with_argument(n - 50, 0.5) - (n - 49);
    }
    app::Square square;
    std::printf("%ld %g %g\n", caught, square.area(0.5), app::sum(1.5, 2.0));
}

int main() {
    run();
    std::thread(run).join();
    std::printf("%g\n", __builtin_cpu_supports("avx512f") ? app::wide() : WIDE);
}
