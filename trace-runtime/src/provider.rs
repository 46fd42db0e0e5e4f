//! The provider of this process: what its trace points and its names are to a trace manager.
//!
//! | module | subject |
//! |---|---|
//! | `builder` | what an application chooses |
//! | `handle` | the one provider of a process, and the guard that applications hold |
//! | `application` | what the service thread asks of the application's trace points |
//! | `observers` | functions that are called when tracing starts and stops |
//! | `fork` | forked children |

mod application;
mod builder;
mod current;
#[allow(unsafe_code)]
mod fork;
mod handle;
mod observers;

pub use builder::Builder;
pub use handle::Trace;
pub use observers::{observe, trace_state, Observer};

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
