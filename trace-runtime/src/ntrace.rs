//! Tracing compiled out, for one module: the same names, which compile to nothing.
//!
//! ```
//! mod quiet {
//!     use trace_runtime::ntrace::*;
//!
//!     pub fn work(data: &[u8]) {
//!         // Type-checked, but neither evaluated nor recorded.
//!         trace_duration!("app", "work", "length" => data.len());
//!     }
//! }
//! # quiet::work(&[]);
//! ```
//!
//! Import it instead of the names of `trace_runtime`: importing both makes names ambiguous. It has
//! all macros of the crate, `#[trace_fn]`, `TraceFutureExt`, [`context`], and the functions and
//! types that start something. Plain values, such as [`Timestamp`] and [`Track`], are those of the
//! crate.
//!
//! With the feature `ntrace`, and on systems other than Linux, this module is the whole crate.

use std::marker::PhantomData;
use std::path::PathBuf;

use crate::context::{BufferingMode, EventType, StringRef, ThreadRef, Value};
pub use crate::untraced_future::{TraceFuture, TraceFutureArgs, TraceFutureExt};

#[doc(hidden)]
#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
#[allow(unsafe_code)]
pub mod foreign;
#[cfg(all(target_os = "linux", feature = "ntrace"))]
mod mark;
#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
mod place;

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
pub use crate::{w3c, Clock, TraceState};
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use crate::{
    Arg, ArgValue, BlobType, InstantScope, Koid, ObjectType, Pointer, Timestamp, Track,
};
#[cfg(feature = "attributes")]
pub use trace_macros::ntrace_fn as trace_fn;

/// The names of [`context`](crate::context), which record nothing.
pub mod context {
    pub use super::{spans, Context, TracePoint};
    pub use crate::context::{
        format, scope, BufferingMode, EventType, SignalGuard, SignalLock, StringRef, ThreadRef,
        Value,
    };
}

/// Returns a guard without effect: the process does not become a provider.
pub fn init() -> Trace {
    builder().init()
}

/// Returns a builder whose options have no effect.
pub fn builder() -> Builder {
    Builder(PhantomData)
}

/// Returns `false`: no alert is raised.
#[inline(always)]
pub fn raise_alert(_name: &str) -> bool {
    false
}

/// A guard without effect.
#[derive(Debug)]
#[must_use = "with tracing, the process is a provider until this is dropped: bind it, as in `let _trace = init();`"]
pub struct Trace(PhantomData<()>);

impl Trace {
    /// Returns `Ok`.
    ///
    /// # Errors
    /// Never.
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
    /// Returns a trace point that is never on.
    pub fn new(
        _: EventType,
        _category: &'static str,
        _name: &'static str,
        _keys: &[&'static str],
    ) -> Self {
        Self(PhantomData)
    }

    /// Returns a trace point that is never on.
    pub fn operation(_category: &'static str, _name: &'static str, _keys: &[&'static str]) -> Self {
        Self(PhantomData)
    }

    /// Returns a trace point that is never on.
    pub fn poll(_category: &'static str, _name: &'static str, _keys: &[&'static str]) -> Self {
        Self(PhantomData)
    }

    /// Returns `false`.
    #[inline(always)]
    pub fn is_on(self) -> bool {
        false
    }

    /// Does nothing.
    #[inline(always)]
    pub fn write(self, _values: &[Value<'_>], _tail: &[u64]) {}

    /// Does nothing.
    #[inline(always)]
    pub fn write_at(self, _time: Timestamp, _values: &[Value<'_>], _tail: &[u64]) {}

    /// Returns `false`.
    #[inline(always)]
    pub fn write_in(
        self,
        _recording: u64,
        _time: Timestamp,
        _values: &[Value<'_>],
        _id: u64,
    ) -> bool {
        false
    }

    /// Does nothing.
    #[inline(always)]
    pub fn write_named(self, _name: &str, _values: &[Value<'_>], _tail: &[u64]) {}

    /// Does nothing.
    #[inline(always)]
    pub fn write_log(self, _text: &str) {}

    /// Returns a guard without effect.
    #[inline(always)]
    pub fn begin(self, _values: &[Value<'_>]) -> DurationScope {
        DurationScope(PhantomData)
    }

    /// Returns a guard without effect.
    #[inline(always)]
    pub fn begin_poll(self, _values: &[Value<'_>]) -> DurationScope {
        DurationScope(PhantomData)
    }

    /// Does nothing.
    #[inline(always)]
    pub fn compare(self, _recording: u64, _start: Timestamp, _end: Timestamp) {}
}

/// Spans of a bridge, which are not recorded.
pub mod spans {
    /// No task.
    #[derive(Clone, Copy, Debug)]
    pub struct OuterTask(());

    /// Does nothing.
    pub fn set_span_ids(_span_id: fn() -> Option<u64>) {}

    /// Does nothing.
    #[inline(always)]
    #[must_use = "the span must be left"]
    pub fn enter_span() -> OuterTask {
        OuterTask(())
    }

    /// Does nothing.
    #[inline(always)]
    pub fn leave_span(_outer: OuterTask) {}

    /// Returns 0.
    #[inline(always)]
    #[must_use]
    pub fn recording() -> u64 {
        0
    }

    /// Returns `None`.
    #[inline(always)]
    #[must_use]
    pub fn polled_task() -> Option<u64> {
        None
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

/// A context, which is never available.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context(PhantomData<()>);

impl Context {
    /// A ref without a thread.
    pub const THIS_THREAD: ThreadRef = ThreadRef::INLINE;

    /// Returns `None`: nothing is recorded.
    pub fn acquire() -> Option<Self> {
        None
    }

    /// Returns `false`.
    pub fn is_current(self) -> bool {
        false
    }

    /// Returns `None`.
    pub fn register_string(self, _text: &str) -> Option<StringRef> {
        None
    }

    /// Returns `None`.
    pub fn register_thread(self, _process: u64, _thread: u64) -> Option<ThreadRef> {
        None
    }

    /// Returns `false`: nothing is written.
    pub fn write_record(self, _record: &[u64]) -> bool {
        false
    }

    /// Returns [`BufferingMode::Oneshot`].
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

    /// Returns `None`.
    #[must_use]
    pub fn start(&self) -> Option<Timestamp> {
        None
    }
}

/// Returns [`TraceState::Stopped`].
pub fn trace_state() -> TraceState {
    TraceState::Stopped
}

/// Returns a guard without effect: the observer is never called.
pub fn observe(_observer: impl Fn(TraceState) + Send + Sync + 'static) -> Observer {
    Observer(PhantomData)
}

/// The guard of an observer that is never called.
#[derive(Debug)]
#[must_use = "the observer is removed when this is dropped"]
pub struct Observer(PhantomData<()>);

impl Drop for Observer {
    fn drop(&mut self) {}
}

/// A builder whose options have no effect.
#[derive(Clone, Debug)]
#[must_use = "has no effect before `init`"]
pub struct Builder(PhantomData<()>);

impl Builder {
    /// Ignores the provider's name.
    pub fn name(self, _name: impl Into<String>) -> Self {
        self
    }

    /// Ignores the categories.
    pub fn categories<T: Into<String>>(self, _categories: impl IntoIterator<Item = T>) -> Self {
        self
    }

    /// Ignores the manager's socket.
    pub fn socket(self, _path: impl Into<PathBuf>) -> Self {
        self
    }

    /// Ignores the path of the archive: none is written.
    pub fn output(self, _path: impl Into<PathBuf>) -> Self {
        self
    }

    /// Ignores the size of the buffer.
    pub fn buffer_size(self, _bytes: usize) -> Self {
        self
    }

    /// Ignores the buffering mode.
    pub fn oneshot(self) -> Self {
        self
    }

    /// Ignores the buffering mode.
    pub fn circular(self) -> Self {
        self
    }

    /// Ignores the buffering mode.
    pub fn streaming(self) -> Self {
        self
    }

    /// Ignores the clock.
    pub fn clock(self, _clock: Clock) -> Self {
        self
    }

    /// Ignores the manager's user.
    pub fn manager_uid(self, _uid: u32) -> Self {
        self
    }

    /// Ignores the function: there are no messages.
    pub fn on_message(self, _function: fn(&str)) -> Self {
        self
    }

    /// Returns a guard without effect: the process does not become a provider.
    ///
    /// Keeps a mark in the program, by which `trace record` reports that tracing is compiled out.
    pub fn init(self) -> Trace {
        #[cfg(all(target_os = "linux", feature = "ntrace"))]
        mark::keep();
        Trace(PhantomData)
    }
}
