//! Trace points at a time that is known.

/// Traces at a time that is known, on this thread: for what another clock has told, such as a
/// device's or a log's.
///
/// The time is a [`Timestamp`](crate::Timestamp), or what is one by `Into`:
/// [`Instant`](std::time::Instant) and [`SystemTime`](std::time::SystemTime) are. It is evaluated,
/// and converted, only while the category is recorded.
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
/// What is traced is one of `instant`, `counter`, `duration_begin`, `duration_end`,
/// `duration_complete`, `async_begin`, `async_instant`, `async_end`, `flow_begin`, `flow_step` and
/// `flow_end`, with what the macro of that name takes; the time of `duration_complete`, which has
/// category, name and arguments, is a range. Events need not come in the order of their times.
///
/// A scope is over only later, and so has no time that is known:
///
/// ```compile_fail
/// trace_runtime::trace_at!(trace_runtime::Timestamp::now(), duration("net", "no such kind"));
/// ```
///
/// Costs what the record costs without a read of the clock, and the conversion of the time, if it
/// is to be converted.
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
            "`", ::core::stringify!($other), "` cannot be traced here: expected `instant`, `counter`, `duration_begin`, \
             `duration_end`, `duration_complete`, `async_begin`, `async_instant`, `async_end`, `flow_begin`, `flow_step` or `flow_end`"
        ))
    };
}

/// Writes a duration that is over: `start..end, place of the start, (category, name), names, key =>
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
