#![doc = include_str!("guide.md")]
// Each module that allows unsafe code is named in ARCHITECTURE.md.
#![deny(unsafe_code)]

mod alert_name;
mod clock_choice;
pub mod context;
#[cfg(feature = "attributes")]
mod function;
mod keys;
mod macros;
pub mod ntrace;
mod short;
pub mod task;
#[allow(unsafe_code)]
mod untraced_future;
#[cfg_attr(
    not(all(target_os = "linux", not(feature = "ntrace"))),
    allow(dead_code, reason = "without tracing, values are type-checked and never encoded")
)]
mod value;
pub mod w3c;

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod forbidden;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[doc(hidden)]
#[allow(unsafe_code)]
pub mod foreign;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod names;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod nonce;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod point;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod provider;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod recorder;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[allow(unsafe_code)]
mod sites;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[allow(unsafe_code)]
mod sys;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[allow(unsafe_code)]
mod thread;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod timestamp;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
mod track;
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
#[allow(unsafe_code)]
mod tracks;

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub use {
    point::alert::raise_alert,
    point::scopes::{AsyncScope, TrackScope},
    point::write::DurationScope,
    provider::{builder, init, observe, trace_state, Builder, Observer, Trace},
    task::{TraceFuture, TraceFutureArgs, TraceFutureExt},
    timestamp::Timestamp,
    track::Track,
};

#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub(crate) use recorder::{ENGINE, RECORDER};

#[doc(hidden)]
pub use alert_name::check_alert_name as __check_alert_name;
pub use clock_choice::Clock;
#[doc(hidden)]
pub use keys::{count_future_keys as __count_future_keys, count_keys as __count_keys};
#[cfg(not(all(target_os = "linux", not(feature = "ntrace"))))]
pub use ntrace::*;
#[doc(no_inline)]
pub use short::*;
pub use trace_format::layout::{BlobType, InstantScope, ObjectType};
#[doc(hidden)]
#[cfg(feature = "attributes")]
pub use trace_macros::located_call as __located_call;
#[cfg(all(feature = "attributes", target_os = "linux", not(feature = "ntrace")))]
pub use trace_macros::trace_fn;
pub use trace_provider::{NotTraced, TraceState};
#[doc(hidden)]
pub use value::formatted::text as __text;
#[doc(hidden)]
pub use value::recorded as __recorded;
pub use value::{Arg, ArgValue, Koid, Pointer};

/// Items that the macros expand to. Not a public interface: it changes without notice.
#[doc(hidden)]
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
pub mod __private {
    pub use trace_format::layout::EventType;

    pub use crate::names::{name_process, name_thread};
    pub use crate::point::alert::Alert;
    pub use crate::point::arguments::numbers;
    pub use crate::point::blob::{blob, blob_attachment, blob_event};
    pub use crate::point::names::{BothAtRunTime, CategoryCheck, Literal, NameAtRunTime, Names};
    pub use crate::point::object::{log, object, Object};
    pub use crate::point::place::{At, Here, On};
    pub use crate::point::scopes::{begin_on, enter};
    pub use crate::point::site::{crate_name, Category, Key, Name, Site};
    pub use crate::point::write::{begin, begin_plain, complete, event_at};
    pub use crate::recorder::{is_category_enabled, is_recording, nonce};
    pub use crate::task::{begin as begin_task, value, BothStored, NameStored, Task, TraceFuture};

    /// Returns a text as `&str`.
    #[inline(always)]
    pub fn text<T: AsRef<str> + ?Sized>(text: &T) -> &str {
        text.as_ref()
    }

    /// Returns an id as the trailing word of a record.
    #[inline(always)]
    pub fn id(id: u64) -> u64 {
        id
    }

    /// Returns data as bytes.
    #[inline(always)]
    pub fn bytes<T: AsRef<[u8]> + ?Sized>(data: &T) -> &[u8] {
        data.as_ref()
    }

    /// Returns the object at an address.
    #[inline(always)]
    pub fn userspace<'a, P: crate::ArgValue<Arg<'a> = crate::Pointer>>(pointer: &'a P) -> Object {
        Object::Userspace(pointer.arg().0)
    }

    /// Returns a track, from a track or a reference to one.
    #[inline(always)]
    pub fn track<T: core::borrow::Borrow<crate::Track>>(track: &T) -> crate::Track {
        *track.borrow()
    }

    /// Returns the scope of an instant as the trailing word of a record.
    #[inline(always)]
    pub fn scope(scope: crate::InstantScope) -> u64 {
        scope.bits()
    }
}

/// Items that `#[trace_fn]` expands to, beside the macros. Not a public interface: it changes
/// without notice.
#[doc(hidden)]
#[cfg(feature = "attributes")]
pub mod __attribute {
    pub use crate::function::{never, observed, once, outcome, Never};
    pub use crate::value::choice::{optional, required, Recordable, Required};
}
