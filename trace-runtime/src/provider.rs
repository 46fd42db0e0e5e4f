//! The provider: what connects this process to a trace manager, or has it trace into a file.
//!
//! | module | subject |
//! |---|---|
//! | `handle` | the one provider of a process, and the guard that applications hold |
//! | `environment` | the environment's variables |
//! | `service` | the service thread |
//! | `wake` | waking it |
//! | `link` | a connection to a manager |
//! | `session` | a manager's session |
//! | `received` | checking what a manager sends |
//! | `registration` | what a provider says of itself |
//! | `wait` | waiting for a manager to appear |
//! | `output` | tracing into a file without a manager |
//! | `files` | whose those files are |
//! | `alerts` | sending alerts |
//! | `active` | a buffer that is recorded into, and its rolling buffers' hand-over |
//! | `recording` | start and stop |
//! | `table` | strings, and what else is in the durable buffer |
//! | `wanted` | the categories that are recorded |
//! | `names` | the names that the kernel knows threads by |
//! | `given` | the names that the application gives |
//! | `tracks` | the tracks that it makes |
//! | `lock` | a lock that forked children find free |
//! | `observers` | who is told when tracing starts and stops |
//! | `fork` | forked children |
//! | `sys` | system calls |

mod active;
mod alerts;
mod backoff;
mod config;
mod environment;
mod files;
mod fork;
pub(crate) mod given;
mod handle;
mod link;
mod lock;
pub(crate) mod names;
mod observers;
mod output;
mod received;
mod recording;
mod registration;
mod service;
mod session;
mod sys;
pub(crate) mod table;
mod tracks;
mod wait;
mod wake;
mod wanted;

pub use config::Builder;
pub use given::{name_process, name_thread};
pub use handle::Trace;
pub use observers::{observe, trace_state, Observer};
pub(crate) use wake::notify;
pub use wanted::is_category_enabled;

/// Makes this process a trace provider, until the guard is dropped.
///
/// If a manager answers, and a session is running, the next event is already in it. Without a
/// manager this returns at once, and the process joins as soon as one appears. Calling it again is
/// harmless. With `TRACE_OUTPUT` set, the process traces itself into that file instead.
///
/// Costs a thread that sleeps, and at most one second where a manager is there and does not answer.
///
/// ```
/// let _trace = trace_runtime::init();
/// ```
pub fn init() -> Trace {
    builder().init()
}

/// Like [`init`], with a name, categories, or a socket of your choice.
pub fn builder() -> Builder {
    Builder::from_environment()
}
