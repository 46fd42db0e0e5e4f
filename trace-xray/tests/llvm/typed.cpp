// A program with custom and typed events, which XRay's flight data recorder of compiler-rt records on two threads.
// Writes its log to xray-log.* in the current directory.

#include <cstdio>
#include <thread>

#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>

#define TRACED extern "C" __attribute__((noinline, xray_always_instrument))

// The sled has its arguments in place, and pushes no registers. With -DPUSHES it pushes three.
TRACED void typed(unsigned long type, const char *data, unsigned long size) {
#ifdef PUSHES
    asm volatile("" : "+a"(type), "+b"(data), "+c"(size));
#endif
    __xray_typedevent(type, data, size);
}

// Six types, from 0 to 65,535.
TRACED void events(unsigned i) {
    char text[32];
    int size = std::snprintf(text, sizeof text, "event %u", i);
    __xray_customevent(text, size);
    typed(i * 13107, text, size);
}

TRACED void leaf() { asm volatile(""); }

// The runtime leaves out the last bytes of a thread buffer: 16 for each typed event. These are records of 8 bytes.
TRACED void work() {
    for (unsigned i = 0; i < 30; i++) events(i % 6);
    for (unsigned i = 0; i < 60; i++) leaf();
}

int main() {
    if (__xray_log_select_mode("xray-fdr") != XRAY_REGISTRATION_OK) return 2;
    const char *options = "buffer_size=4096:buffer_max=64:func_duration_threshold_us=0";
    if (__xray_log_init_mode("xray-fdr", options) != XRAY_LOG_INITIALIZED) return 3;
    if (__xray_patch() != SUCCESS) return 4;
    std::thread other(work);
    work();
    other.join();
    if (__xray_log_finalize() != XRAY_LOG_FINALIZED) return 5;
    if (__xray_log_flushLog() != XRAY_LOG_FLUSHED) return 6;
}
