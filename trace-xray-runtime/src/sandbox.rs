//! Programs that restrict their system calls. They are not ended for those that this library makes,
//! unless all threads get a filter after one thread had its own.
//!
//! | restriction | what is done before it |
//! |---|---|
//! | the recorded program was executed with one | nothing is recorded (`start`) |
//! | strict seccomp of a thread | the thread is not recorded from then on, and its end makes no system call |
//! | a filter for a thread | its traced calls make no system calls, and neither does its end, nor that of the process |
//! | a filter for all threads, no processor's counter, or a namespace for processes with one thread | recording ends, with all threads of this library |
//! | no processor's counter, after a filter | recording ends, without a system call |

use trace_runtime::{foreign, trace_instant};

use crate::restriction::{self, Restriction};
use crate::{life, own, sys, thread};

/// Prepares for a restriction that the calling thread is about to choose.
pub(crate) fn prepare(restriction: Restriction) {
    if !own::is_active() {
        return;
    }
    // The restriction of a child that shares this memory is not one of this process. With a filter
    // it cannot be asked who calls.
    if !restriction::is_filtered() && own::is_other_process() {
        return;
    }
    report(restriction);
    match restriction {
        Restriction::Strict => thread::refuse(),
        Restriction::Filter => {
            restriction::set_filtered();
            foreign::forbid_system_calls();
        }
        // A thread with a filter may not be able to end the others, which then get that filter.
        Restriction::Process if restriction::is_filtered() => {}
        Restriction::Counter if restriction::is_filtered() => own::forbid(),
        Restriction::Process | Restriction::Counter => sys::without_cancellation(life::end),
    }
}

/// Reports in the trace what is not recorded from now on.
fn report(restriction: Restriction) {
    match restriction {
        Restriction::Strict => {
            trace_instant!("xray", "thread not recorded", "reason" => "strict seccomp");
        }
        Restriction::Filter => {}
        Restriction::Process if restriction::is_filtered() => {}
        Restriction::Process => report_end("all threads are restricted, or there may be one only"),
        Restriction::Counter => report_end("the processor's counter is forbidden"),
    }
}

fn report_end(reason: &'static str) {
    trace_instant!("xray", "recording ended", "reason" => reason);
}
