//! The text of ftrace, which `systemTraceEvents` of a document is.
//!
//! Of its events those of the scheduler are taken, and the markers that tell
//! how its clock stands to that of the document. Kernels and options differ in
//! what stands before an event:
//!
//! ```text
//! #           TASK-PID    (TGID) CPU#  irqs…   TIMESTAMP  FUNCTION
//!           <idle>-0             [001]       4467.843475: sched_switch: prev_comm=…
//!      systrace.sh-5441         [001] d...  1031.091570: sched_wakeup: comm=…
//!      systrace.sh-5441  (-----) [001] d..2. 1031.091570: sched_waking: comm=…
//! ```

mod clock;
mod line;
mod scheduler;

pub(super) use clock::Clock;
pub(super) use line::Line;
pub(super) use scheduler::{Scheduled, Task};
