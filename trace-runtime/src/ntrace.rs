//! Tracing compiled out, for one module: the same names, of which nothing is left.
//!
//! ```
//! mod quiet {
//!     use trace_runtime::ntrace::*;
//!
//!     pub fn work(data: &[u8]) {
//!         // Type-checked, and neither evaluated nor recorded.
//!         trace_duration!("app", "work", "length" => data.len());
//!     }
//! }
//! # quiet::work(&[]);
//! ```
//!
//! It takes the place of what the module imports from `trace_runtime`: both at once make names
//! ambiguous. It has all macros of the crate, `#[trace_fn]`, `TraceFutureExt`, [`context`], and the
//! functions and types that start something; what is only a value, such as [`Timestamp`] and
//! [`Track`], is the same.
//!
//! With the feature `ntrace`, and on systems other than Linux, this is what the crate consists of.

use std::marker::PhantomData;
use std::path::PathBuf;

use crate::context::{BufferingMode, EventType, StringRef, ThreadRef, Value};

#[doc(hidden)]
#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
#[allow(unsafe_code)]
pub mod foreign;
#[allow(unsafe_code)]
mod future;
#[cfg(all(target_os = "linux", feature = "ntrace"))]
mod mark;
#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
mod place;

pub use future::{TraceFuture, TraceFutureArgs, TraceFutureExt};

#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
pub use place::{Timestamp, Track};

pub use crate::{
    __ntrace_alert as trace_alert, __ntrace_async_enter as trace_async_enter,
    __ntrace_at as trace_at, __ntrace_blob as trace_blob,
    __ntrace_blob_attachment as trace_blob_attachment, __ntrace_blob_event as trace_blob_event,
    __ntrace_category as trace_category, __ntrace_counter as trace_counter,
    __ntrace_disabled as trace_category_enabled, __ntrace_disabled as trace_enabled,
    __ntrace_duration as trace_duration, __ntrace_event as trace_duration_begin,
    __ntrace_event as trace_duration_end, __ntrace_event_with_id as trace_async_begin,
    __ntrace_event_with_id as trace_async_end, __ntrace_event_with_id as trace_async_instant,
    __ntrace_event_with_id as trace_flow_begin, __ntrace_event_with_id as trace_flow_end,
    __ntrace_event_with_id as trace_flow_step, __ntrace_future_args as trace_future_args,
    __ntrace_instaflow as trace_instaflow_begin, __ntrace_instaflow as trace_instaflow_end,
    __ntrace_instaflow as trace_instaflow_step, __ntrace_instant as trace_instant,
    __ntrace_kernel_object as trace_kernel_object, __ntrace_log as trace_log,
    __ntrace_name as trace_process_name, __ntrace_name as trace_thread_name,
    __ntrace_nonce as trace_nonce, __ntrace_track as trace_track,
    __ntrace_userspace_object as trace_userspace_object,
};
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use crate::{Arg, ArgValue, BlobType, Koid, ObjectType, Pointer, Scope, Timestamp, Track};
pub use crate::{Clock, TraceState};
#[cfg(feature = "attributes")]
pub use trace_macros::ntrace_fn as trace_fn;

/// What is made at run time, and records nothing: the names of [`context`](crate::context).
pub mod context {
    pub use super::{Context, TracePoint};
    pub use crate::context::{
        format, scope, BufferingMode, EventType, StringRef, ThreadRef, Value,
    };
}

/// Makes this process no trace provider.
pub fn init() -> Trace {
    builder().init()
}

/// Chooses how this process is not traced.
pub fn builder() -> Builder {
    Builder(PhantomData)
}

/// Raises no alert.
#[inline(always)]
pub fn raise_alert(_name: &str) -> bool {
    false
}

/// Keeps this process what it is.
#[derive(Debug)]
#[must_use = "the process would be a provider until this is dropped: bind it, as in `let _trace = init();`"]
pub struct Trace(PhantomData<()>);

impl Trace {
    /// Nothing is missing.
    ///
    /// # Errors
    /// None.
    pub fn status(&self) -> Result<(), crate::NotTraced> {
        Ok(())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {}
}

/// A trace point that is never on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TracePoint(PhantomData<()>);

impl TracePoint {
    /// Makes nothing.
    pub fn new(
        _: EventType,
        _category: &'static str,
        _name: &'static str,
        _keys: &[&'static str],
    ) -> Self {
        Self(PhantomData)
    }

    /// It is not.
    #[inline(always)]
    pub fn is_on(self) -> bool {
        false
    }

    /// Records nothing.
    #[inline(always)]
    pub fn write(self, _values: &[Value<'_>], _tail: &[u64]) {}

    /// Records nothing.
    #[inline(always)]
    pub fn write_at(self, _time: Timestamp, _values: &[Value<'_>], _tail: &[u64]) {}

    /// Records nothing.
    #[inline(always)]
    pub fn write_named(self, _name: &str, _values: &[Value<'_>], _tail: &[u64]) {}

    /// Records nothing.
    #[inline(always)]
    pub fn write_log(self, _text: &str) {}

    /// Begins nothing.
    #[inline(always)]
    pub fn begin(self, _values: &[Value<'_>]) -> DurationScope {
        DurationScope(PhantomData)
    }
}

/// A duration on a track that is not recorded.
#[doc(hidden)]
#[derive(Debug)]
#[must_use = "the duration ends when this is dropped"]
pub struct TrackScope(PhantomData<()>);

impl TrackScope {
    /// A duration that is not recorded.
    pub const NOT_RECORDED: Self = Self(PhantomData);
}

/// An operation that is not recorded.
#[doc(hidden)]
#[derive(Debug)]
#[must_use = "the operation ends when this is dropped"]
pub struct AsyncScope(PhantomData<()>);

impl AsyncScope {
    /// An operation that is not recorded.
    pub const NOT_RECORDED: Self = Self(PhantomData);
}

impl Drop for AsyncScope {
    fn drop(&mut self) {}
}

/// Access to no recording.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context(PhantomData<()>);

impl Context {
    /// No thread writes.
    pub const THIS_THREAD: ThreadRef = ThreadRef::INLINE;

    /// There is none.
    pub fn acquire() -> Option<Self> {
        None
    }

    /// It is not.
    pub fn is_current(self) -> bool {
        false
    }

    /// Registers nothing.
    pub fn register_string(self, _text: &str) -> Option<StringRef> {
        None
    }

    /// Registers nothing.
    pub fn register_thread(self, _process: u64, _thread: u64) -> Option<ThreadRef> {
        None
    }

    /// Writes nothing.
    pub fn write_record(self, _record: &[u64]) -> bool {
        false
    }

    /// Is oneshot.
    pub fn buffering_mode(self) -> BufferingMode {
        BufferingMode::Oneshot
    }
}

/// A duration that is not recorded.
#[doc(hidden)]
#[derive(Debug)]
#[must_use = "the duration ends when this is dropped"]
pub struct DurationScope(PhantomData<*const ()>);

impl DurationScope {
    /// A duration that is not recorded.
    pub const NOT_RECORDED: Self = Self(PhantomData);
}

/// Nothing is recorded.
pub fn trace_state() -> TraceState {
    TraceState::Stopped
}

/// Has nobody told of anything.
pub fn observe(_told: impl Fn(TraceState) + Send + Sync + 'static) -> Observer {
    Observer(PhantomData)
}

/// Waits for nothing.
#[derive(Debug)]
#[must_use = "nothing is told any more when this is dropped"]
pub struct Observer(PhantomData<()>);

impl Drop for Observer {
    fn drop(&mut self) {}
}

/// Takes what there is to choose, and chooses nothing.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `init`"]
pub struct Builder(PhantomData<()>);

impl Builder {
    /// Names no provider.
    pub fn name(self, _name: impl Into<String>) -> Self {
        self
    }

    /// Records no category.
    pub fn categories<T: Into<String>>(self, _categories: impl IntoIterator<Item = T>) -> Self {
        self
    }

    /// Connects to no socket.
    pub fn socket(self, _path: impl Into<PathBuf>) -> Self {
        self
    }

    /// Writes no file.
    pub fn output(self, _path: impl Into<PathBuf>) -> Self {
        self
    }

    /// Makes no buffer.
    pub fn buffer_size(self, _bytes: usize) -> Self {
        self
    }

    /// Makes no buffer.
    pub fn oneshot(self) -> Self {
        self
    }

    /// Makes no buffer.
    pub fn circular(self) -> Self {
        self
    }

    /// Makes no buffer.
    pub fn streaming(self) -> Self {
        self
    }

    /// Reads no clock.
    pub fn clock(self, _clock: Clock) -> Self {
        self
    }

    /// Accepts no manager.
    pub fn manager_uid(self, _uid: u32) -> Self {
        self
    }

    /// Has no messages.
    pub fn on_message(self, _function: fn(&str)) -> Self {
        self
    }

    /// Makes this process no trace provider. Leaves the mark in the program by which `trace record`
    /// reports that tracing is compiled out.
    pub fn init(self) -> Trace {
        #[cfg(all(target_os = "linux", feature = "ntrace"))]
        mark::keep();
        Trace(PhantomData)
    }
}
