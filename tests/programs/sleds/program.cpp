// A program in C++ that is built with sleds, and linked without LLVM's runtime.

#include <cstdio>
#include <stdexcept>
#include <thread>

// Not inlined, and not computed by the compiler.
#define FUNCTION __attribute__((noinline, optnone))

extern "C" FUNCTION long c_function(long n) { return n + 1; }

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

template <typename T> FUNCTION T sum(T a, T b) { return a + b; }

} // namespace app

FUNCTION void run() {
    long caught = 0;
    for (long n = 0; n < 100; n++) {
        caught += app::catcher(n) < 0;
    }
    app::Square square;
    std::printf("%ld %g %g\n", caught, square.area(0.5), app::sum(1.5, 2.0));
}

int main() {
    run();
    std::thread(run).join();
}
