//! Values that are recorded as text: `?value` by `Debug`, `%value` by `Display`.

/// Replaces `?value` and `%value` by their texts, and calls `$macro!` again with all arguments.
///
/// `macro, form, none, [first…] key => value, …`: `form` names the error if an argument has another
/// form. The macros take this way only if their own arms do not match, so that calls without texts
/// do not take longer to compile.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_formatted {
    ($macro:ident, $form:ident, text, [$($done:tt)*]) => {
        $crate::$macro!($($done)*)
    };
    ($macro:ident, $form:ident, $found:ident, [$($done:tt)*] $key:expr => ? $value:expr $(, $($rest:tt)*)?) => {
        $crate::__trace_formatted!(
            $macro, $form, text, [$($done)* $key => $crate::__text(::core::format_args!("{:?}", $value)),] $($($rest)*)?
        )
    };
    ($macro:ident, $form:ident, $found:ident, [$($done:tt)*] $key:expr => % $value:expr $(, $($rest:tt)*)?) => {
        $crate::__trace_formatted!(
            $macro, $form, text, [$($done)* $key => $crate::__text(::core::format_args!("{}", $value)),] $($($rest)*)?
        )
    };
    ($macro:ident, $form:ident, $found:ident, [$($done:tt)*] $key:expr => $value:expr $(, $($rest:tt)*)?) => {
        $crate::__trace_formatted!(
            $macro, $form, $found, [$($done)* $key => $value,] $($($rest)*)?
        )
    };
    ($macro:ident, $form:ident, $($wrong:tt)*) => {
        $crate::__trace_expected!($form)
    };
}
