//! Macros for trace points at given times and on tracks, compiled out.

/// Type-checks a trace point at a given time.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_at {
    ($time:expr, duration_complete($($trace_point:tt)*)) => {{
        if false {
            let ::core::ops::Range { start, end } = $time;
            let _: [$crate::Timestamp; 2] =
                [::core::convert::Into::into(start), ::core::convert::Into::into(end)];
        }
        $crate::__ntrace_event!($($trace_point)*)
    }};
    ($time:expr, $kind:ident($($trace_point:tt)*)) => {{
        if false {
            let _ = $crate::Timestamp::from($time);
        }
        $crate::__ntrace_placed!($kind, $($trace_point)*)
    }};
}

/// Type-checks a trace point by its kind: `kind, trace point…`.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_placed {
    (instant, $($trace_point:tt)*) => { $crate::__ntrace_instant!($($trace_point)*) };
    (counter, $($trace_point:tt)*) => { $crate::__ntrace_counter!($($trace_point)*) };
    (duration_begin, $($trace_point:tt)*) => { $crate::__ntrace_event!($($trace_point)*) };
    (duration_end, $($trace_point:tt)*) => { $crate::__ntrace_event!($($trace_point)*) };
    (async_begin, $($trace_point:tt)*) => { $crate::__ntrace_event_with_id!($($trace_point)*) };
    (async_instant, $($trace_point:tt)*) => { $crate::__ntrace_event_with_id!($($trace_point)*) };
    (async_end, $($trace_point:tt)*) => { $crate::__ntrace_event_with_id!($($trace_point)*) };
    (flow_begin, $($trace_point:tt)*) => { $crate::__ntrace_event_with_id!($($trace_point)*) };
    (flow_step, $($trace_point:tt)*) => { $crate::__ntrace_event_with_id!($($trace_point)*) };
    (flow_end, $($trace_point:tt)*) => { $crate::__ntrace_event_with_id!($($trace_point)*) };
}

/// Type-checks a trace point on a track.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_track {
    ($track:expr, duration($($trace_point:tt)*)) => {
        if false {
            let _: &$crate::Track = ::core::borrow::Borrow::borrow(&$track);
        }
        $crate::__ntrace_event!($($trace_point)*);
    };
    ($track:expr, at $time:expr, $kind:ident($($trace_point:tt)*)) => {{
        if false {
            let _: &$crate::Track = ::core::borrow::Borrow::borrow(&$track);
        }
        $crate::__ntrace_at!($time, $kind($($trace_point)*))
    }};
    ($track:expr, $kind:ident($($trace_point:tt)*)) => {{
        if false {
            let _: &$crate::Track = ::core::borrow::Borrow::borrow(&$track);
        }
        $crate::__ntrace_placed!($kind, $($trace_point)*)
    }};
}

/// Type-checks an asynchronous operation with a guard.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_async_enter {
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {{
        $crate::__ntrace_unused!($category, $name, [$id => ::core::primitive::u64] $(, $key => $value)*);
        $crate::ntrace::AsyncScope::NOT_RECORDED
    }};
    ($category:literal, $name:literal, $id:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__ntrace_async_enter, literals_and_id, none, [$category, $name, $id,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(literals_and_id)
    };
}

/// Type-checks a flow event with its own duration.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_instaflow {
    ($category:expr, $flow:expr, $step:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {{
        $crate::__ntrace_unused!($category, $flow, [$id => ::core::primitive::u64] $(, $key => $value)*);
        $crate::__ntrace_unused!("", $step, []);
    }};
    ($category:expr, $flow:expr, $step:expr, $id:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__ntrace_instaflow, instaflow, none, [$category, $flow, $step, $id,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(instaflow)
    };
}

/// Type-checks a name.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_name {
    ($name:expr $(,)?) => {
        $crate::__ntrace_unused!("", $name, [])
    };
}
