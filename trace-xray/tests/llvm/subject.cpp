// A program with XRay's flight data recorder of compiler-rt: two threads, arguments, tail calls, custom
// events, and calls that end by an exception or never. Writes its log to xray-log.* in the current directory.
//
//     subject THRESHOLD
//
// THRESHOLD is the duration in microseconds below which calls are removed from the log.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>

#define TRACED extern "C" __attribute__((noinline, xray_always_instrument))

static volatile unsigned sink;

static void spin(unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) sink = sink + i;
}

TRACED unsigned leaf(unsigned x) {
    spin(10);
    return x + sink;
}

TRACED unsigned slow(unsigned x) {
    spin(200000);
    return leaf(x);
}

extern "C" __attribute__((noinline, xray_always_instrument, xray_log_args(1))) unsigned with_argument(unsigned long x) {
    spin(10);
    return static_cast<unsigned>(x) + sink;
}

TRACED unsigned tail_target(unsigned x) {
    spin(20);
    return x + sink;
}

// Ends with a jump to tail_target.
TRACED unsigned tail_caller(unsigned x) {
    spin(20);
    __attribute__((musttail)) return tail_target(x);
}

TRACED void thrower(int depth) {
    spin(10);
    if (depth == 0) throw 1;
    thrower(depth - 1);
    spin(1);
}

TRACED void catcher() {
    try {
        thrower(2);
    } catch (int) {
        sink = sink + 1;
    }
}

TRACED void event(int i) {
    char text[32];
    std::snprintf(text, sizeof text, "event %d", i);
    __xray_customevent(text, std::strlen(text));
}

TRACED void work(int rounds) {
    for (int i = 0; i < rounds; i++) {
        sink = sink + leaf(i) + with_argument(0x100000000ul + i) + tail_caller(i);
        catcher();
        event(i);
    }
    sink = sink + slow(1);
}

TRACED void never_returns() {
    leaf(1);
    if (__xray_log_finalize() != XRAY_LOG_FINALIZED) std::abort();
    if (__xray_log_flushLog() != XRAY_LOG_FLUSHED) std::abort();
    std::exit(0);
}

int main(int, char **argv) {
    if (__xray_log_select_mode("xray-fdr") != XRAY_REGISTRATION_OK) return 2;
    std::string options = "buffer_size=4096:buffer_max=64:func_duration_threshold_us=";
    options += argv[1];
    if (__xray_log_init_mode("xray-fdr", options.c_str()) != XRAY_LOG_INITIALIZED) return 3;
    // Arguments need a handler of their own, which the mode has installed.
    if (__xray_patch() != SUCCESS) return 4;
    std::thread other(work, 20);
    work(30);
    other.join();
    never_returns();
}
