//! From events of the kernel to records.
//!
//! | event | record | category |
//! |---|---|---|
//! | switch, wakeup | scheduling record | |
//! | migration | instant of the thread | `kernel:sched` |
//! | fork, exec, exit, rename | instant of the thread | `kernel:tasks` |
//! | name of a thread | kernel object, when name or process change | |
//! | system call | duration of the thread | `kernel:syscall` |
//! | interrupt, deferred work | duration of the CPU | `kernel:irq` |
//! | call of a function | instant, or duration of the thread | `kernel:uprobe:PATH:SYMBOL`, `kernel:uretprobe:PATH:SYMBOL` |
//! | marker | durations, counters and others by Android's convention, else an instant | `atrace` |
//! | line of the kernel's log | log record of the thread | |
//! | frequency | counter of the CPU | `kernel:power` |
//! | resident memory | counter of the process | `kernel:memory` |
//! | any other | instant of the thread, with its fields | `kernel:event:SYSTEM/NAME` |
//! | missed events | instant `records dropped` of the CPU | `trace` |

mod archive;
mod call_names;
mod calls;
mod counters;
mod durations;
mod frequent;
mod instants;
mod labels;
mod list;
mod scheduling;
mod sink;
mod start;
mod system_calls;
mod threads;
mod translator;

pub use call_names::CallNames;
#[cfg(target_os = "linux")]
pub(crate) use frequent::REGISTERS;
pub use frequent::{Switch, SystemCall, Wakeup};
pub use instants::{write_event, write_gap};
pub use labels::Label;
pub use scheduling::{write_scheduling, write_switch, write_wakeup, Wakeups};
pub use sink::RecordSink;
pub use system_calls::write_call;
#[cfg(target_os = "linux")]
pub(crate) use system_calls::LABELS;
pub(crate) use threads::Comm;
pub use threads::Threads;
pub use translator::Translator;
