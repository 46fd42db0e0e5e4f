//! Macros for trace points on tracks.

/// Records an event on a [`Track`](crate::Track) instead of this thread.
///
/// `duration` lasts until the end of the enclosing block. Its guard is [`Send`], so the block may
/// end on another thread, and the guard may be held across an `.await`. The other events are those
/// of [`trace_at!`](crate::trace_at), at the current time, or `at` a given one. Durations on a
/// track nest, like those of a thread.
///
/// ```
/// use trace_runtime::{trace_track, Timestamp, Track};
///
/// let queue = Track::new("GPU queue 0");
/// {
///     trace_track!(queue, duration("gpu", "submit", "draws" => 12u32));
///     trace_track!(queue, instant("gpu", "fence"));
///     trace_track!(queue, counter("gpu", "memory", 0, "bytes" => 4096u64));
/// }
/// let (start, end) = (Timestamp::now(), Timestamp::now());
/// trace_track!(queue, at start..end, duration_complete("gpu", "draw"));
/// trace_track!(queue, at end, instant("gpu", "interrupt"));
/// ```
///
/// Costs as much as the event of a thread. `duration` writes two records, at its beginning and at
/// its end.
#[macro_export]
macro_rules! trace_track {
    ($track:expr, duration($($trace_point:tt)*)) => {
        let _trace_track = $crate::__trace_named!(__trace_begin_on, [$track,], $($trace_point)*);
    };
    ($track:expr, at $time:expr, duration_complete($($trace_point:tt)*)) => {
        $crate::__trace_named!(
            __trace_complete,
            [$time, |start| $crate::__private::On($crate::__private::track(&$track), start),],
            $($trace_point)*
        )
    };
    ($track:expr, at $time:expr, $kind:ident($($trace_point:tt)*)) => {
        $crate::__trace_placed!(
            $crate::__private::On(
                $crate::__private::track(&$track),
                $crate::__private::At($crate::Timestamp::from($time))
            ),
            $kind,
            $($trace_point)*
        )
    };
    ($track:expr, $kind:ident($($trace_point:tt)*)) => {
        $crate::__trace_placed!(
            $crate::__private::On($crate::__private::track(&$track), $crate::__private::Here),
            $kind,
            $($trace_point)*
        )
    };
}

/// Begins a duration on a track: `track, (category, name), names, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_begin_on {
    ($track:expr, $site:tt, $names:expr, $($key:expr => $value:expr),* $(,)?) => {
        $crate::__trace_site!(
            scope,
            $site,
            $names,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::begin_on(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                $crate::__private::track(&$track),
                names,
                $crate::__trace_arguments!($($value),*),
            ),
            $crate::TrackScope::NOT_RECORDED
        )
    };
    ($track:expr, $site:tt, $names:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__trace_begin_on, arguments, none, [$track, $site, $names,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(arguments)
    };
}
