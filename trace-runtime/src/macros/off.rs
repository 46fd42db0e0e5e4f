//! The macros with tracing compiled out: arguments are type-checked, but neither evaluated nor
//! recorded.

mod blob;
mod place;

/// Type-checks a trace point: `category, name, [other: type], key => value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_unused {
    ($category:expr, $name:expr, [$($other:expr => $type:ty)?] $(, $key:expr => $value:expr)*) => {
        if false {
            const _: ::core::primitive::usize = $crate::__count_keys(&[$($key),*]);
            let _: &::core::primitive::str = ::core::convert::AsRef::as_ref(&$category);
            let _: &::core::primitive::str = ::core::convert::AsRef::as_ref(&$name);
            $(let _: $type = $other;)?
            $(let _ = $crate::__located_call!($crate::__recorded, $value);)*
        }
    };
}

/// Type-checks a trace point with category, name and arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_event {
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__ntrace_unused!($category, $name, [] $(, $key => $value)*)
    };
    ($category:expr, $name:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__ntrace_event, arguments, none, [$category, $name,] $($rest)+)
    };
    ($category:expr, $name:expr $(, $($wrong:tt)*)?) => {
        $crate::__trace_expected!(arguments)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(names)
    };
}

/// Type-checks an instant with an optional scope.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_instant {
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__ntrace_unused!($category, $name, [] $(, $key => $value)*)
    };
    ($category:expr, $name:expr, $scope:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__ntrace_unused!($category, $name, [$scope => $crate::InstantScope] $(, $key => $value)*)
    };
    ($category:expr, $name:expr, $key:expr => $($rest:tt)+) => {
        $crate::__trace_formatted!(
            __ntrace_instant, scope, none, [$category, $name,] $key => $($rest)+
        )
    };
    ($category:expr, $name:expr, $scope:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__ntrace_instant, scope, none, [$category, $name, $scope,] $($rest)+)
    };
    ($category:expr, $name:expr $(, $($wrong:tt)*)?) => {
        $crate::__trace_expected!(scope)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(names)
    };
}

/// Type-checks a trace point with category, name, id and arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_event_with_id {
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__ntrace_unused!($category, $name, [$id => ::core::primitive::u64] $(, $key => $value)*)
    };
    ($category:expr, $name:expr, $id:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__ntrace_event_with_id, id, none, [$category, $name, $id,] $($rest)+)
    };
    ($category:expr, $name:expr $(, $($wrong:tt)*)?) => {
        $crate::__trace_expected!(id)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(names)
    };
}

/// Type-checks a counter with at least one value.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_counter {
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)+ $(,)?) => {
        $crate::__ntrace_unused!($category, $name, [$id => ::core::primitive::u64] $(, $key => $value)+)
    };
    ($category:expr, $name:expr $(, $($wrong:tt)*)?) => {
        $crate::__trace_expected!(counter)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(names)
    };
}

/// Type-checks a duration, as a statement.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_duration {
    ($($tokens:tt)*) => {
        $crate::__ntrace_event!($($tokens)*);
    };
}

/// Expands to `false`: no category is recorded.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_disabled {
    ($($category:expr)?) => {{
        $($crate::__ntrace_unused!($category, "", []);)?
        false
    }};
}

/// Expands to 0, an id that is never recorded.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_nonce {
    () => {
        0u64
    };
}

/// Checks an alert, which is never raised.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_alert {
    ($name:literal $(,)?) => {
        const { $crate::__check_alert_name($name) }
    };
    ($category:literal, $name:literal $(,)?) => {
        const {
            let _: &::core::primitive::str = $category;
            $crate::__check_alert_name($name)
        }
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(alert)
    };
}

/// Type-checks a category, which is never recorded.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_category {
    ($name:literal, $description:literal $(,)?) => {
        const _: (&::core::primitive::str, &::core::primitive::str) = ($name, $description);
    };
}

/// Type-checks the arguments of a future as moved into it. They are neither evaluated nor moved.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_future_args {
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {{
        if false {
            const _: ::core::primitive::usize = $crate::__count_future_keys(&[$($key),*]);
            let _: &::core::primitive::str = ::core::convert::AsRef::as_ref(&{ $category });
            let _: &::core::primitive::str = ::core::convert::AsRef::as_ref(&{ $name });
            $(let _ = $crate::__recorded(&{ $value });)*
        }
        $crate::ntrace::TraceFutureArgs::none()
    }};
    ($category:expr, $name:expr, $($rest:tt)+) => {
        $crate::__trace_formatted!(__ntrace_future_args, arguments, none, [$category, $name,] $($rest)+)
    };
    ($category:expr, $name:expr $(, $($wrong:tt)*)?) => {
        $crate::__trace_expected!(arguments)
    };
    ($($wrong:tt)*) => {
        $crate::__trace_expected!(names)
    };
}
