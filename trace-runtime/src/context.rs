//! Trace points that are made at run time: for bridges from other instrumentation, and for languages that have no macros of ours.
//!
//! A trace point of a macro is a static. One that is made here has the same costs while the program runs; making it takes a lock,
//! allocates, and is for ever: make it once for each place in the program, and keep it.
//!
//! ```
//! use trace_runtime::context::{EventType, TracePoint, Value};
//!
//! let point = TracePoint::new(EventType::Instant, "net", "packet", &["length", "peer"]);
//! if point.is_on() {
//!     point.write(&[Value::Uint64(1500), Value::Str("::1")], &[]);
//! }
//! ```

mod value;

traced! {
    mod point;

    pub use point::TracePoint;
}

pub use trace_format::layout::EventType;
pub use value::Value;

#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
pub use crate::ntrace::TracePoint;
use crate::Scope;

/// The trailing word of an instant.
#[must_use]
pub fn scope(scope: Scope) -> u64 {
    scope.bits()
}
