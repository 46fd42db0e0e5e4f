//! The text of ftrace: `trace-cmd report`, `/sys/kernel/tracing/trace`, and the HTML of systrace.
//!
//! A document of the Trace Event Format may have such a text as a member, see [`DocumentText`]. The
//! columns before an event depend on the kernel and its options:
//!
//! ```text
//! #           TASK-PID    (TGID) CPU#  irqs…   TIMESTAMP  FUNCTION
//!           <idle>-0             [001]       4467.843475: sched_switch: prev_comm=…
//!      systrace.sh-5441         [001] d...  1031.091570: sched_wakeup: comm=…
//!      systrace.sh-5441  (-----) [001] d..2. 1031.091570: sched_waking: comm=…
//! ```
//!
//! # Events
//!
//! | ftrace                                      | FXT                                           |
//! |---------------------------------------------|-----------------------------------------------|
//! | `sched_switch`                              | context switch                                |
//! | `sched_waking`, `sched_wakeup` without it   | wakeup                                        |
//! | marker `B\|PID\|NAME`, `E\|PID`             | duration begin, end, of the category `atrace` |
//! | marker `S\|PID\|NAME\|ID`, `F\|PID\|NAME\|ID` | async begin, end                            |
//! | marker `C\|PID\|NAME\|VALUE`                | counter                                       |
//! | any other event                             | instant of the category `ftrace`, with `details` |
//! | name of a task                              | kernel object, if it changes                  |
//!
//! Times are those of ftrace's clock. Lines without an event are ignored.

mod clock;
mod document;
mod import;
mod line;
mod scheduler;

pub use document::DocumentText;
pub use import::Ftrace;
