//! One macro for each kind of trace point.
//!
//! Category and name come first. Where both are literals the trace point takes the fast path; where
//! one is not, it is written into each record.

/// Traces a duration from here to the end of the enclosing block.
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
/// `?value` records the `Debug` text of a value, and `%value` its `Display` text, as in all macros:
///
/// ```
/// # use trace_runtime::trace_duration;
/// # let path = std::path::Path::new("src");
/// trace_duration!("search", "search file", "path" => ?path, "shown" => %path.display());
/// ```
///
/// It is a statement that keeps its guard in a variable of its own: `let scope =
/// trace_duration!(…)` does not compile. To end a duration before the block does, put it into a
/// block of its own.
///
/// The arguments are recorded now and borrowed no longer than that. The duration also ends by
/// `return`, `?` and panic. It belongs to its thread: in an `async` block it must not be held
/// across an `.await`, where it would end on another thread, or count the time in which others ran.
/// Its guard is not `Send`, so that the compiler says so of a future that has to be. Trace what
/// lasts longer with [`TraceFutureExt::trace`](crate::TraceFutureExt::trace), and see
/// [`task`](crate::task).
///
/// Costs two reads of the clock while its category is recorded, and one load and a branch while it
/// is not.
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

/// Begins a duration that [`trace_duration_end!`](crate::trace_duration_end) ends, on the same
/// thread.
///
/// Durations nest: the one that began last ends first. Prefer
/// [`trace_duration!`](crate::trace_duration), which ends by itself.
///
/// ```
/// use trace_runtime::{trace_duration_begin, trace_duration_end};
///
/// trace_duration_begin!("render", "frame", "number" => 7u64);
/// // …
/// trace_duration_end!("render", "frame");
/// ```
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_duration_begin {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event, [DurationBegin, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Ends the duration that [`trace_duration_begin!`](crate::trace_duration_begin) began last on this
/// thread.
///
/// Its arguments are added to those of the beginning. Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_duration_end {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event, [DurationEnd, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Traces a moment: of this thread, or, with a [`Scope`](crate::Scope) behind the name, of the
/// process or of the whole trace.
///
/// ```
/// use trace_runtime::{trace_instant, Scope};
///
/// trace_instant!("cache", "miss", "key" => "user/7");
/// trace_instant!("app", "reload", Scope::Process);
/// trace_instant!("app", "low memory", Scope::Global, "free" => 4096u64);
/// ```
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_instant {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_instant, [$crate::__private::Here,], $($trace_point)*)
    };
}

/// Samples the values of a counter: each argument, a number, is one series of it.
///
/// Category, name and id tell counters apart; use the id 0 where there is one counter of the name
/// in a process.
///
/// ```
/// use trace_runtime::trace_counter;
///
/// trace_counter!("queue", "jobs", 0, "waiting" => 12u64, "running" => 4u64);
/// ```
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_counter {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_counter, [$crate::__private::Here,], $($trace_point)*)
    };
}

/// Begins an operation that may span threads and end on any of them.
///
/// [`trace_async_end!`](crate::trace_async_end) with the same category, name and id ends it. Ids
/// are compared over the whole trace: take them from [`trace_nonce!`](crate::trace_nonce).
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
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_async_begin {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [AsyncBegin, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Traces a moment within an operation that [`trace_async_begin!`](crate::trace_async_begin) began
/// with the same id.
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_async_instant {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [AsyncInstant, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Ends an operation that [`trace_async_begin!`](crate::trace_async_begin) began with the same
/// category, name and id.
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_async_end {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [AsyncEnd, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Begins an operation that ends when the [`AsyncScope`](crate::AsyncScope) that this gives is
/// dropped, on any thread.
///
/// Category and name are literals, since the end has them too. The id is evaluated only while the
/// category is recorded.
///
/// ```
/// use trace_runtime::{trace_async_enter, trace_nonce};
///
/// let request = trace_async_enter!("net", "request", trace_nonce!(), "url" => "/");
/// let answered = std::thread::spawn(move || drop(request));
/// # answered.join().unwrap();
/// ```
///
/// Costs one read of the clock at its beginning and one at its end while recorded.
#[macro_export]
macro_rules! trace_async_enter {
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_site!(
            AsyncBegin,
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

/// Begins a flow: an arrow from the duration that encloses this to the one that encloses the next
/// [`trace_flow_step!`](crate::trace_flow_step) or [`trace_flow_end!`](crate::trace_flow_end) with
/// the same category, name and id.
///
/// Ids are compared over the whole trace: take them from [`trace_nonce!`](crate::trace_nonce).
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
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_flow_begin {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [FlowBegin, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Continues a flow: an arrow ends at the duration that encloses this, and the next begins there.
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_flow_step {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [FlowStep, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Ends a flow: its last arrow ends at the duration that encloses this.
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_flow_end {
    ($($trace_point:tt)*) => {
        $crate::__trace_named!(__trace_event_with_id, [FlowEnd, $crate::__private::Here,], $($trace_point)*)
    };
}

/// Whether anything is being recorded now.
///
/// ```
/// if trace_runtime::trace_enabled!() {
///     // Gather what only a trace needs.
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

/// Whether a category is being recorded now.
///
/// ```
/// if trace_runtime::trace_category_enabled!("render") {
///     // Gather what only the trace points of this category need.
/// }
/// ```
///
/// Costs one load where the category is a literal.
#[macro_export]
macro_rules! trace_category_enabled {
    ($category:literal) => {{
        #[used]
        #[link_section = "trace_sites"]
        static __TRACE_SITE: $crate::__private::Site = $crate::__private::Site::question($category);
        $crate::__private::Site::is_on(&__TRACE_SITE)
    }};
    ($category:expr) => {
        $crate::__private::is_category_enabled($crate::__private::text(&$category))
    };
}

/// A number for an async or flow id that no other call gives, on this machine: not in this process,
/// and not in another one.
///
/// A process counts from a random start. That two processes which give a million ids each share one
/// has a probability of 2⁻⁴¹.
///
/// ```
/// let id: u64 = trace_runtime::trace_nonce!();
/// assert_ne!(id, trace_runtime::trace_nonce!());
/// ```
///
/// Costs one atomic addition.
#[macro_export]
macro_rules! trace_nonce {
    () => {
        $crate::__private::nonce()
    };
}

/// Declares a category with a description, for lists of what a program can trace.
///
/// A category exists without it: this only describes it. Use it where items go.
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
