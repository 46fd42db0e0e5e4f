//! The same macros where tracing is compiled out: arguments are type-checked, and neither evaluated nor recorded.

/// Type-checks expressions that are not evaluated, and arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_unused {
    ([$($unused:expr),*] $(, $key:expr => $value:expr)* $(,)?) => {
        if false {
            $(let _ = &$unused;)*
            $(
                let _: &str = $key;
                let _ = $crate::ArgValue::arg(&$value);
            )*
        }
    };
}

/// A trace point with category, name and arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_event {
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__ntrace_unused!([$category, $name] $(, $key => $value)*)
    };
}

/// A trace point with category, name, one thing more, which may be left out, and arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_event_with {
    ($category:expr, $name:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__ntrace_unused!([$category, $name] $(, $key => $value)*)
    };
    ($category:expr, $name:expr, $tail:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__ntrace_unused!([$category, $name, $tail] $(, $key => $value)*)
    };
}

/// A trace point with category, name, id and arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_event_with_id {
    ($category:expr, $name:expr, $id:expr $(, $key:expr => $value:expr)* $(,)?) => {
        $crate::__ntrace_unused!([$category, $name, u64::wrapping_add($id, 0)] $(, $key => $value)*)
    };
}

/// A statement in place of a duration.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_duration {
    ($($tokens:tt)*) => {
        $crate::__ntrace_event!($($tokens)*);
    };
}

/// Whether a category is recorded: it is not.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_disabled {
    ($($category:expr)?) => {{
        $crate::__ntrace_unused!([$($category)?]);
        false
    }};
}

/// The id of something that is not recorded.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_nonce {
    () => {
        0u64
    };
}

/// A category that nobody records.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_category {
    ($name:literal, $description:literal $(,)?) => {
        const _: (&str, &str) = ($name, $description);
    };
}
