//! One macro for each kind of trace point.
//!
//! Category and name come first. Where both are literals the trace point takes the fast path; where one is not, it is written into
//! each record.

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
/// The arguments are recorded now and borrowed no longer than that. The duration also ends by `return`, `?` and panic. It belongs to
/// its thread: in an `async` block it must not be held across an `.await`.
///
/// Costs two reads of the clock while its category is recorded, and one load and a branch while it is not.
#[macro_export]
macro_rules! trace_duration {
    ($category:literal, $name:literal $(,)?) => {
        let _trace_duration = $crate::__trace_begin_plain!($category, $name);
    };
    ($category:literal, $name:literal $(, $key:expr => $value:expr)* $(,)?) => {
        let _trace_duration =
            $crate::__trace_begin!(($category, $name), $crate::__private::Literal $(, $key => $value)*);
    };
    ($category:literal, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        let _trace_duration = $crate::__trace_begin!(
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)) $(, $key => $value)*
        );
    };
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        let _trace_duration = $crate::__trace_begin!(
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name))
            $(, $key => $value)*
        );
    };
}

/// Begins a duration that [`trace_duration_end!`](crate::trace_duration_end) ends, on the same thread.
///
/// Durations nest: the one that began last ends first. Prefer [`trace_duration!`](crate::trace_duration), which ends by itself.
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
    ($category:literal, $name:literal $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(DurationBegin, ($category, $name), $crate::__private::Literal, [] $(, $key => $value)*)
    };
    ($category:literal, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            DurationBegin,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            DurationBegin,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [] $(, $key => $value)*
        )
    };
}

/// Ends the duration that [`trace_duration_begin!`](crate::trace_duration_begin) began last on this thread.
///
/// Its arguments are added to those of the beginning. Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_duration_end {
    ($category:literal, $name:literal $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(DurationEnd, ($category, $name), $crate::__private::Literal, [] $(, $key => $value)*)
    };
    ($category:literal, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            DurationEnd,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            DurationEnd,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [] $(, $key => $value)*
        )
    };
}

/// Traces a moment: of this thread, or, with a [`Scope`](crate::Scope) behind the name, of the process or of the whole trace.
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
    ($category:literal, $name:literal $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            Instant,
            ($category, $name),
            $crate::__private::Literal,
            [$crate::__private::scope($crate::Scope::Thread)] $(, $key => $value)*
        )
    };
    ($category:literal, $name:literal, $scope:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            Instant,
            ($category, $name),
            $crate::__private::Literal,
            [$crate::__private::scope($scope)] $(, $key => $value)*
        )
    };
    ($category:literal, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            Instant,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [$crate::__private::scope($crate::Scope::Thread)] $(, $key => $value)*
        )
    };
    ($category:literal, $name:expr, $scope:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            Instant,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [$crate::__private::scope($scope)] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            Instant,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [$crate::__private::scope($crate::Scope::Thread)] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr, $scope:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            Instant,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [$crate::__private::scope($scope)] $(, $key => $value)*
        )
    };
}

/// Samples the values of a counter: each argument, a number, is one series of it.
///
/// Category, name and id tell counters apart; use the id 0 where there is one counter of the name in a process.
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
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)+ $(,)?) => {
        $crate::__trace_event!(
            Counter,
            ($category, $name),
            $crate::__private::Literal,
            [$crate::__private::id($id)] $(, $key => $value)+
        )
    };
    ($category:literal, $name:expr, $id:expr $(, $key:expr => $value:expr)+ $(,)?) => {
        $crate::__trace_event!(
            Counter,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)+
        )
    };
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)+ $(,)?) => {
        $crate::__trace_event!(
            Counter,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)+
        )
    };
}

/// Begins an operation that may span threads and end on any of them.
///
/// [`trace_async_end!`](crate::trace_async_end) with the same category, name and id ends it. Ids are compared over the whole trace: take
/// them from [`trace_nonce!`](crate::trace_nonce).
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
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            AsyncBegin,
            ($category, $name),
            $crate::__private::Literal,
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:literal, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            AsyncBegin,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            AsyncBegin,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
}

/// Traces a moment within an operation that [`trace_async_begin!`](crate::trace_async_begin) began with the same id.
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_async_instant {
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            AsyncInstant,
            ($category, $name),
            $crate::__private::Literal,
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:literal, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            AsyncInstant,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            AsyncInstant,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
}

/// Ends an operation that [`trace_async_begin!`](crate::trace_async_begin) began with the same category, name and id.
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_async_end {
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            AsyncEnd,
            ($category, $name),
            $crate::__private::Literal,
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:literal, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            AsyncEnd,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            AsyncEnd,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
}

/// Begins a flow: an arrow from the duration that encloses this to the one that encloses the next
/// [`trace_flow_step!`](crate::trace_flow_step) or [`trace_flow_end!`](crate::trace_flow_end) with the same category, name and id.
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
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            FlowBegin,
            ($category, $name),
            $crate::__private::Literal,
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:literal, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            FlowBegin,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            FlowBegin,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
}

/// Continues a flow: an arrow ends at the duration that encloses this, and the next begins there.
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_flow_step {
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            FlowStep,
            ($category, $name),
            $crate::__private::Literal,
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:literal, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            FlowStep,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            FlowStep,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
}

/// Ends a flow: its last arrow ends at the duration that encloses this.
///
/// Costs one read of the clock while recorded.
#[macro_export]
macro_rules! trace_flow_end {
    ($category:literal, $name:literal, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            FlowEnd,
            ($category, $name),
            $crate::__private::Literal,
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:literal, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            FlowEnd,
            ($category, ""),
            $crate::__private::NameAtRunTime($crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
    };
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_event!(
            FlowEnd,
            ("", ""),
            $crate::__private::BothAtRunTime($crate::__private::text(&$category), $crate::__private::text(&$name)),
            [$crate::__private::id($id)] $(, $key => $value)*
        )
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
        __TRACE_SITE.is_on()
    }};
    ($category:expr) => {
        $crate::__private::is_category_enabled($crate::__private::text(&$category))
    };
}

/// A number for an async or flow id that no other call gives, on this machine: not in this process, and not in another one.
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
            static CATEGORY: $crate::__private::Category = $crate::__private::Category::new($name, $description);
        };
    };
}
