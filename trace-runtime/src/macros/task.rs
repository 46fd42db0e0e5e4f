//! Macros for traced futures.

/// Returns the category, name and arguments of a future for
/// [`TraceFutureExt::trace`](crate::TraceFutureExt::trace).
///
/// ```
/// use trace_runtime::{trace_future_args, TraceFutureExt};
///
/// # async fn get(_: &str) {}
/// async fn fetch(url: String) {
///     get(&url).trace(trace_future_args!("net", "get", "url" => url.clone(), "try" => 1u32)).await;
/// }
/// # let _ = fetch(String::new());
/// ```
///
/// The values are moved into the future. To keep a value, clone or borrow it in the expression.
/// Values are evaluated only while the category is recorded. A future has up to 14 arguments.
#[macro_export]
macro_rules! trace_future_args {
    ($category:literal, $name:literal $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_future_args!(
            ($category, $crate::__private::Name::Text($name)),
            $crate::__private::Literal,
            $($key => $value),*
        )
    };
    ($category:literal, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_future_args!(
            ($category, $crate::__private::Name::Text("")),
            $crate::__private::NameStored($name),
            $($key => $value),*
        )
    };
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__trace_future_args!(
            ("", $crate::__private::Name::Text("")),
            $crate::__private::BothStored($category, $name),
            $($key => $value),*
        )
    };
    ($category:literal, $name:literal, $($rest:tt)+) => {
        $crate::__trace_formatted!(trace_future_args, arguments, none, [$category, $name,] $($rest)+)
    };
    ($category:expr, $name:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(trace_future_args, arguments, none, [$category, $name,] $($rest)+)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(names)
    };
}

/// Stores the names and values of a future: `(category, name), names, key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_future_args {
    ($site:tt, $names:expr, $($key:expr => $value:expr),*) => {{
        const _: ::core::primitive::usize = $crate::__count_future_keys(&[$($key),*]);
        $crate::__trace_site!(
            operation,
            $site,
            $names,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::TraceFutureArgs::on(
                &__TRACE_SITE,
                names,
                $crate::__trace_values!($($value),*),
            ),
            $crate::TraceFutureArgs::off(&__TRACE_SITE)
        )
    }};
}

/// Expands to the values as nested pairs.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_values {
    () => { () };
    ($value:expr $(, $rest:expr)*) => {
        ($crate::__private::value($value), $crate::__trace_values!($($rest),*))
    };
}

/// Begins a task for `TraceFuture::begun`: `(category, name), key => value, …`, with category and
/// name as in a site. The values are borrowed.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_task_begin {
    ($site:tt $(, $key:expr => $value:expr)* $(,)?) => {{
        const _: ::core::primitive::usize = $crate::__count_future_keys(&[$($key),*]);
        $crate::__trace_site!(
            operation,
            $site,
            $crate::__private::Literal,
            [$($key),*],
            |__TRACE_SITE, __TRACE_KEYS, names| $crate::__private::begin_task(
                &__TRACE_SITE,
                &__TRACE_KEYS,
                $crate::__trace_arguments!($($value),*),
            ),
            $crate::__private::Task::unbegun(&__TRACE_SITE)
        )
    }};
}

/// Creates a task for `TraceFuture::begun` that begins with its first poll and has no arguments:
/// `(category, name)`, as in a site.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_task_make {
    (($category:expr, $name:expr)) => {{
        // `#[used]`: it is stored to through the section, which the compiler does not see.
        #[used]
        #[link_section = "trace_sites"]
        static __TRACE_SITE: $crate::__private::Site =
            $crate::__private::Site::operation($category, $name, &[]);
        $crate::__private::Task::unbegun(&__TRACE_SITE)
    }};
}
