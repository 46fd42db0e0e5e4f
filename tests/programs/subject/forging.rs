//! A program that writes records that only the manager may write.

use trace_runtime::{trace_instant, trace_kernel_object, ObjectType};

/// Records clock anchors of another boot, a name for another process, and an event.
pub(crate) fn forge() {
    let _trace = crate::init();
    for boottime in [1u64, 100_000_000_000] {
        trace_instant!(
            "trace",
            "clock anchor",
            "ticks" => 7u64,
            "realtime_ns" => 1u64,
            "monotonic_ns" => boottime,
            "boottime_ns" => boottime
        );
    }
    trace_kernel_object!(1, ObjectType::PROCESS, "not init");
    trace_instant!("forge", "real");
}
