//! For bridges from other instrumentation, and for languages that have no macros of ours: trace
//! points that are made at run time, and records written word by word.
//!
//! # Trace points
//!
//! A trace point of a macro is a static. One that is made here has the same costs while the program
//! runs; making it takes a lock, allocates, and is for ever: make it once for each place in the
//! program, and keep it.
//!
//! ```
//! use trace_runtime::context::{EventType, TracePoint, Value};
//!
//! let point = TracePoint::new(EventType::Instant, "net", "packet", &["length", "peer"]);
//! if point.is_on() {
//!     point.write(&[Value::Uint64(1500), Value::Str("::1")], &[]);
//! }
//! ```
//!
//! # Records
//!
//! A [`Context`] writes records that the program has made itself, of any type of the format that a
//! provider may write.
//!
//! ```
//! use trace_runtime::context::format::record::{Log, Record, Thread};
//! use trace_runtime::context::{format, Context};
//! use trace_runtime::Timestamp;
//!
//! if let Some(context) = Context::acquire() {
//!     if let Some(worker) = context.register_thread(1, 77) {
//!         let thread = Thread::Indexed(worker.bits());
//!         let log = Log { ticks: Timestamp::now().ticks(), thread, message: b"a message of another thread" };
//!         let mut words = Vec::new();
//!         let _small = format::encode::append(&mut words, &Record::from(log));
//!         context.write_record(&words);
//!     }
//! }
//! ```

mod value;

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod point;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod raw;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use point::TracePoint;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use raw::Context;

/// The trace format: records to encode, and the layout of their words.
pub use trace_format as format;
pub use trace_format::layout::{EventType, StringRef, ThreadRef};
pub use value::Value;

#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
pub use crate::ntrace::{Context, TracePoint};
use crate::Scope;

/// The trailing word of an instant.
#[must_use]
pub fn scope(scope: Scope) -> u64 {
    scope.bits()
}

/// What happens when the buffer of a recording is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferingMode {
    /// The oldest records are kept, and later ones dropped.
    Oneshot,
    /// The newest records are kept.
    Circular,
    /// All records are kept; a part of the buffer is saved while another is written.
    Streaming,
}
