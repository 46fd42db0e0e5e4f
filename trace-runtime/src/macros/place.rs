//! Macros for trace points at a given time.

/// Records an event of this thread at a given time, such as that of a device or a log.
///
/// The time is a [`Timestamp`](crate::Timestamp), or converts into one, as
/// [`Instant`](std::time::Instant) and [`SystemTime`](std::time::SystemTime) do. It is evaluated
/// and converted only while the category is recorded.
///
/// ```
/// use std::time::Instant;
/// use trace_runtime::{trace_at, Timestamp};
///
/// let arrived = Instant::now();
/// let start = Timestamp::now();
/// // …
/// trace_at!(arrived, instant("net", "packet", "bytes" => 1500u32));
/// trace_at!(start..Timestamp::now(), duration_complete("net", "handle packet"));
/// ```
///
/// The event is one of `instant`, `counter`, `duration_begin`, `duration_end`, `duration_complete`,
/// `async_begin`, `async_instant`, `async_end`, `flow_begin`, `flow_step` and `flow_end`, with the
/// arguments of the macro of that name. `duration_complete` takes category, name and arguments, and
/// its time is a range. Events need not be in the order of their times.
///
/// A scope does not compile here, because its end is not known yet:
///
/// ```compile_fail
/// trace_runtime::trace_at!(trace_runtime::Timestamp::now(), duration("net", "no such kind"));
/// ```
///
/// Costs no clock read, only the record, and about half a microsecond for a time that is not a
/// `Timestamp`.
#[macro_export]
macro_rules! trace_at {
    ($time:expr, duration_complete($($trace_point:tt)*)) => {
        $crate::__trace_named!(__trace_complete, [$time, |start| start,], $($trace_point)*)
    };
    ($time:expr, $kind:ident($($trace_point:tt)*)) => {
        $crate::__trace_placed!(
            $crate::__private::At($crate::Timestamp::from($time)), $kind, $($trace_point)*
        )
    };
}

/// Writes an event of some kind at a place: `place, kind, trace point…`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_placed {
    ($place:expr, instant, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_instant, [$place,], $($trace_point)*)
    };
    ($place:expr, counter, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_counter, [$place,], $($trace_point)*)
    };
    ($place:expr, duration_begin, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event, [DurationBegin, $place,], $($trace_point)*)
    };
    ($place:expr, duration_end, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event, [DurationEnd, $place,], $($trace_point)*)
    };
    ($place:expr, async_begin, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [AsyncBegin, $place,], $($trace_point)*)
    };
    ($place:expr, async_instant, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [AsyncInstant, $place,], $($trace_point)*)
    };
    ($place:expr, async_end, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [AsyncEnd, $place,], $($trace_point)*)
    };
    ($place:expr, flow_begin, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [FlowBegin, $place,], $($trace_point)*)
    };
    ($place:expr, flow_step, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [FlowStep, $place,], $($trace_point)*)
    };
    ($place:expr, flow_end, $($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [FlowEnd, $place,], $($trace_point)*)
    };
    ($place:expr, $other:ident, $($trace_point:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "`", ::core::stringify!($other), "` cannot be recorded here: use `instant`, `counter`, `duration_begin`, \
             `duration_end`, `duration_complete`, `async_begin`, `async_instant`, `async_end`, `flow_begin`, `flow_step` or `flow_end`"
        ))
    };
}

/// Writes a complete duration: `start..end, place of the start, (category, name), names, key =>
/// value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_complete {
    ($time:expr, $place:expr, $site:tt, $names:expr, $($key:expr => $value:expr),* $(,)?) => {
        $crate::__trace_site!(
            DurationComplete,
            $site,
            $names,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::complete(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                $time,
                $place,
                names,
                $crate::__trace_arguments!($($value),*),
            ),
            ()
        )
    };
    ($time:expr, $place:expr, $site:tt, $names:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__trace_complete, arguments, none, [$time, $place, $site, $names,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(arguments)
    };
}
