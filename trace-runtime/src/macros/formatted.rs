//! Values that are recorded as text: `?value` by `Debug`, `%value` by `Display`.

/// Replaces `?value` and `%value` by their texts, and then calls `$macro!` with all arguments.
///
/// Arguments: `macro, form, none, [first…] key => value, …`. `form` selects the error if an
/// argument is malformed. The macros call this only if their own arms do not match, so calls
/// without texts do not take longer to compile.
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
