//! Macros for flow events with their own durations.

/// Records the beginning of a flow, in a new duration of length zero.
///
/// Flow events bind to the enclosing duration. Use this where there is none: it adds a duration
/// with the name of the third argument. Category, flow name and id are those of
/// [`trace_flow_begin!`](crate::trace_flow_begin). The arguments belong to the duration.
///
/// ```
/// use trace_runtime::{trace_instaflow_begin, trace_instaflow_end, trace_instaflow_step, trace_nonce};
///
/// let job = trace_nonce!();
/// trace_instaflow_begin!("queue", "job", "pushed", job, "length" => 3u32);
/// trace_instaflow_step!("queue", "job", "scheduled", job);
/// trace_instaflow_end!("queue", "job", "done", job, "result" => true);
/// ```
///
/// Writes three records with one timestamp: duration begin, flow event, duration end. Costs one
/// clock read while recorded, else one load and a branch if the category is a literal.
#[macro_export]
macro_rules! trace_instaflow_begin {
    ($($trace_point:tt)*) => {
        $crate::__trace_instaflow!(flow_begin, $($trace_point)*)
    };
}

/// Records a step of a flow, in a new duration of length zero. See
/// [`trace_instaflow_begin!`](crate::trace_instaflow_begin).
#[macro_export]
macro_rules! trace_instaflow_step {
    ($($trace_point:tt)*) => {
        $crate::__trace_instaflow!(flow_step, $($trace_point)*)
    };
}

/// Records the end of a flow, in a new duration of length zero. See
/// [`trace_instaflow_begin!`](crate::trace_instaflow_begin).
#[macro_export]
macro_rules! trace_instaflow_end {
    ($($trace_point:tt)*) => {
        $crate::__trace_instaflow!(flow_end, $($trace_point)*)
    };
}

/// Writes the three records: `kind, category, flow name, step name, id, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_instaflow {
    (
        $kind:ident, $category:literal, $flow:literal, $step:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?
    ) => {
        if $crate::trace_category_enabled!($category) {
            let now = $crate::Timestamp::now();
            $crate::trace_at!(now, duration_begin($category, $step $(, $key => $value)*));
            $crate::trace_at!(now, $kind($category, $flow, $id));
            $crate::trace_at!(now, duration_end($category, $step));
        }
    };
    ($kind:ident, $category:literal, $flow:expr, $step:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        if $crate::trace_category_enabled!($category) {
            match $crate::__private::text(&$step) {
                step => {
                    let now = $crate::Timestamp::now();
                    $crate::trace_at!(now, duration_begin($category, step $(, $key => $value)*));
                    $crate::trace_at!(now, $kind($category, $flow, $id));
                    $crate::trace_at!(now, duration_end($category, step));
                }
            }
        }
    };
    ($kind:ident, $category:expr, $flow:expr, $step:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        match $crate::__private::text(&$category) {
            category => {
                if $crate::trace_category_enabled!(category) {
                    match $crate::__private::text(&$step) {
                        step => {
                            let now = $crate::Timestamp::now();
                            $crate::trace_at!(now, duration_begin(category, step $(, $key => $value)*));
                            $crate::trace_at!(now, $kind(category, $flow, $id));
                            $crate::trace_at!(now, duration_end(category, step));
                        }
                    }
                }
            }
        }
    };
    ($kind:ident, $category:expr, $flow:expr, $step:expr, $id:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__trace_instaflow, instaflow, none, [$kind, $category, $flow, $step, $id,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(instaflow)
    };
}
