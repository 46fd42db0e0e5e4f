//! One macro for each kind of trace point.
//!
//! Category and name come first. Literals are registered once a session. Other expressions are
//! written into each record.

/// Records a duration from here to the end of the enclosing block.
///
/// ```
/// use trace_runtime::trace_duration;
///
/// fn search(path: &str) {
///     trace_duration!("search", "search file", "path" => path);
///     // …
/// }
/// ```
///
/// In all macros, `?value` records the `Debug` text of a value, and `%value` its `Display` text:
///
/// ```
/// # use trace_runtime::trace_duration;
/// # let path = std::path::Path::new("src");
/// trace_duration!("search", "search file", "path" => ?path, "shown" => %path.display());
/// ```
///
/// It is a statement that keeps its guard in a hidden variable: `let scope = trace_duration!(…)`
/// does not compile. To end a duration earlier, put it into its own block.
///
/// The arguments are recorded immediately, and not borrowed afterwards. The duration also ends on
/// `return`, `?` and panic.
///
/// It belongs to its thread: do not hold it across an `.await`, where it would end on another
/// thread, or include the time of other tasks. Its guard is not `Send`, so the compiler rejects
/// this in futures that must be `Send`. In async code, use
/// [`TraceFutureExt::trace`](crate::TraceFutureExt::trace); see [`task`](crate::task).
///
/// Costs two clock reads while the category is recorded, else one load and a branch.
#[macro_export]
macro_rules! trace_duration {
    // The compiler prints the variable if a future that must be `Send` holds it across `.await`.
    ($category:literal, $name:literal $(,)?) => {
        let _no_duration_across_await_use_dot_trace = $crate::__trace_begin_plain!($category, $name);
    };
    ($($trace_point:tt)*) => {
        let _no_duration_across_await_use_dot_trace = $crate::__trace_named!(__trace_begin, [], $($trace_point)*);
    };
}

/// Records the beginning of a duration. [`trace_duration_end!`](crate::trace_duration_end) ends it,
/// on the same thread.
///
/// Durations nest: the last one to begin ends first. Prefer
/// [`trace_duration!`](crate::trace_duration), which ends automatically.
///
/// ```
/// use trace_runtime::{trace_duration_begin, trace_duration_end};
///
/// trace_duration_begin!("render", "frame", "number" => 7u64);
/// // …
/// trace_duration_end!("render", "frame");
/// ```
///
/// Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_duration_begin {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event, [DurationBegin, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Records the end of the last duration that [`trace_duration_begin!`](crate::trace_duration_begin)
/// began on this thread.
///
/// Its arguments are added to those of the beginning. Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_duration_end {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event, [DurationEnd, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Records an instant of this thread, or, with an [`InstantScope`](crate::InstantScope) after the
/// name, of the process or the whole trace.
///
/// ```
/// use trace_runtime::{trace_instant, InstantScope};
///
/// trace_instant!("cache", "miss", "key" => "user/7");
/// trace_instant!("app", "reload", InstantScope::Process);
/// trace_instant!("app", "low memory", InstantScope::Global, "free" => 4096u64);
/// ```
///
/// Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_instant {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_instant, [$crate::__private::Here,], $($trace_point)*)
    };
}

/// Records the values of a counter. Each argument is a number, and one series of the counter.
///
/// Category, name and id identify a counter. Use the id 0 if the process has one counter of this
/// name.
///
/// ```
/// use trace_runtime::trace_counter;
///
/// trace_counter!("queue", "jobs", 0, "waiting" => 12u64, "running" => 4u64);
/// ```
///
/// Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_counter {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_counter, [$crate::__private::Here,], $($trace_point)*)
    };
}

/// Records the beginning of an asynchronous operation, which may end on any thread.
///
/// [`trace_async_end!`](crate::trace_async_end) with the same category, name and id ends it. An id
/// identifies one operation or flow in the whole trace: get it from
/// [`trace_nonce!`](crate::trace_nonce).
///
/// ```
/// use trace_runtime::{trace_async_begin, trace_async_end, trace_async_instant, trace_nonce};
///
/// let id = trace_nonce!();
/// trace_async_begin!("net", "request", id, "url" => "/");
/// trace_async_instant!("net", "connected", id);
/// trace_async_end!("net", "request", id, "status" => 200u32);
/// ```
///
/// Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_async_begin {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [AsyncBegin, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Records an instant of an asynchronous operation that
/// [`trace_async_begin!`](crate::trace_async_begin) began with the same id.
///
/// Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_async_instant {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [AsyncInstant, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Records the end of an asynchronous operation that
/// [`trace_async_begin!`](crate::trace_async_begin) began with the same category, name and id.
///
/// Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_async_end {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [AsyncEnd, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Records an asynchronous operation that ends when the returned [`AsyncScope`](crate::AsyncScope)
/// is dropped, on any thread.
///
/// Category and name must be literals, because the end record needs them too. The id is evaluated
/// only while the category is recorded.
///
/// ```
/// use trace_runtime::{trace_async_enter, trace_nonce};
///
/// let request = trace_async_enter!("net", "request", trace_nonce!(), "url" => "/");
/// let answered = std::thread::spawn(move || drop(request));
/// # answered.join().unwrap();
/// ```
///
/// Costs two clock reads while recorded: one at the beginning and one at the end.
#[macro_export]
macro_rules! trace_async_enter {
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_site!(
            operation,
            ($category, $crate::__private::Name::Text($name)),
            $crate::__private::Literal,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::enter(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                $crate::__trace_arguments!($($value),*),
                $crate::__private::id($id),
            ),
            $crate::AsyncScope::NOT_RECORDED
        )
    };
    ($category:literal, $name:literal, $id:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(trace_async_enter, literals_and_id, none, [$category, $name, $id,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(literals_and_id)
    };
}

/// Records the beginning of a flow: an arrow from the enclosing duration to that of the next
/// [`trace_flow_step!`](crate::trace_flow_step) or [`trace_flow_end!`](crate::trace_flow_end) with
/// the same category, name and id.
///
/// An id identifies one operation or flow in the whole trace: get it from
/// [`trace_nonce!`](crate::trace_nonce).
///
/// ```
/// use trace_runtime::{trace_duration, trace_flow_begin, trace_flow_end, trace_nonce};
///
/// let job = trace_nonce!();
/// {
///     trace_duration!("queue", "push");
///     trace_flow_begin!("queue", "job", job);
/// }
/// std::thread::spawn(move || {
///     trace_duration!("queue", "work");
///     trace_flow_end!("queue", "job", job);
/// });
/// ```
///
/// Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_flow_begin {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [FlowBegin, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Records a step of a flow: an arrow ends at the enclosing duration, and the next one begins
/// there.
///
/// Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_flow_step {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [FlowStep, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Records the end of a flow: its last arrow ends at the enclosing duration.
///
/// Costs one clock read while recorded.
#[macro_export]
macro_rules! trace_flow_end {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [FlowEnd, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Returns whether anything is recorded.
///
/// ```
/// if trace_runtime::trace_enabled!() {
///     // Collect data for the trace.
/// }
/// ```
///
/// Costs one load.
#[macro_export]
macro_rules! trace_enabled {
    () => {
        $crate::__private::is_recording()
    };
}

/// Returns whether a category is recorded.
///
/// ```
/// if trace_runtime::trace_category_enabled!("render") {
///     // Collect data for the trace points of this category.
/// }
/// ```
///
/// Costs one load if the category is a literal, else a match against the session's patterns.
#[macro_export]
macro_rules! trace_category_enabled {
    ($category:literal) => {{
        #[used]
        #[link_section = "trace_sites"]
        static __TRACE_SITE: $crate::__private::Site =
            $crate::__private::Site::category_check($category);
        $crate::__private::Site::is_on(&__TRACE_SITE)
    }};
    ($category:expr) => {
        $crate::__private::is_category_enabled($crate::__private::text(&$category))
    };
}

/// Returns a nonzero id for async operations and flows that is unique on this machine, in all
/// processes.
///
/// Each process counts from a random start. If two processes create a million ids each, the
/// probability that they share one is 2⁻⁴¹.
///
/// ```
/// let id: u64 = trace_runtime::trace_nonce!();
/// assert_ne!(id, trace_runtime::trace_nonce!());
/// ```
///
/// Costs one atomic addition. Async-signal-safe.
#[macro_export]
macro_rules! trace_nonce {
    () => {
        $crate::__private::nonce()
    };
}

/// Declares a category with a description, which lists of categories show.
///
/// Categories require no declaration. Use it where an item is allowed.
///
/// ```
/// trace_runtime::trace_category!("search", "looking for text in files");
/// ```
#[macro_export]
macro_rules! trace_category {
    ($name:literal, $description:literal $(,)?) => {
        const _: () = {
            #[used]
            #[link_section = "trace_categories"]
            static CATEGORY: $crate::__private::Category =
                $crate::__private::Category::new($name, $description);
        };
    };
}
