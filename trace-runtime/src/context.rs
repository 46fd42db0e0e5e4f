//! Trace points created at run time, and raw records: for bridges from other instrumentation, and
//! for other languages.
//!
//! # Trace points
//!
//! A trace point created at run time costs as much as a static one. Creating it takes a lock and
//! allocates memory that is never freed: create it once for each call site and keep it.
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
//! A [`Context`] writes records that the program has encoded itself, of any type that a provider
//! may write.
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

/// Spans of a bridge as parents of traced futures, and the reverse.
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub mod spans {
    pub use crate::task::{
        enter_span, leave_span, polled_task, recording, set_span_ids, OuterTask,
    };
}

/// A lock for bridges whose functions signal handlers call.
pub use trace_provider::{SignalGuard, SignalLock};

/// The trace format: records to encode, and the layout of their words.
pub use trace_format as format;
pub use trace_format::layout::{EventType, StringRef, ThreadRef};
pub use value::Value;

#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
pub use crate::ntrace::{spans, Context, TracePoint};
use crate::InstantScope;

/// Returns the trailing word of an instant with this scope.
#[must_use]
pub fn scope(scope: InstantScope) -> u64 {
    scope.bits()
}

/// The behavior when the buffer of a recording is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferingMode {
    /// Keeps the oldest records, and drops later ones.
    Oneshot,
    /// Overwrites the oldest records.
    Circular,
    /// Keeps all records: full rolling buffers, of up to eight, are saved while another is written.
    Streaming,
}
