// Calls of a function, as `timing.rs` measures them. With -DFDR, LLVM's flight data recorder
// records them.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <x86intrin.h>
#ifdef FDR
#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>
#define NOT_RECORDED [[clang::xray_never_instrument]]
#else
#define NOT_RECORDED __attribute__((no_instrument_function))
#endif

constexpr uint64_t CALLS = 50000;
constexpr int REPETITIONS = 100;

extern "C" __attribute__((noinline)) uint64_t target(uint64_t number) {
    asm volatile("" : "+r"(number));
    return number;
}

NOT_RECORDED static uint64_t calls() {
    uint64_t sum = 0;
    for (uint64_t round = 0; round < CALLS; round++) sum ^= target(round);
    return sum;
}

NOT_RECORDED static uint64_t clocks() {
    uint64_t sum = 0;
    for (uint64_t round = 0; round < CALLS; round++) sum ^= __rdtsc();
    return sum;
}

NOT_RECORDED static double best(uint64_t (*run)()) {
    double least = 1e9;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        auto begin = std::chrono::steady_clock::now();
        volatile uint64_t result = run();
        (void)result;
        std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
        double each = taken.count() / CALLS;
        if (each < least) least = each;
    }
    return least;
}

NOT_RECORDED int main() {
#ifdef FDR
    // Full buffers are used again. All calls are kept, also short ones.
    const char *options = "buffer_size=65536:buffer_max=64:func_duration_threshold_us=0";
    bool started = __xray_log_select_mode("xray-fdr") == XRAY_REGISTRATION_OK &&
                   __xray_log_init_mode("xray-fdr", options) == XRAY_LOG_INITIALIZED &&
                   __xray_patch() == SUCCESS;
    if (!started) {
        fprintf(stderr, "cannot start the flight data recorder\n");
        return 1;
    }
#endif
    double call = best(calls), clock = best(clocks);
    printf("call %.2f ns, clock read %.2f ns\n", call, clock);
#ifdef FDR
    __xray_log_finalize();
    __xray_log_flushLog();
#endif
}
