//! Calls whose errors are reported at the whole macro, without procedural macros.

/// Calls a function with a reference to a value.
#[doc(hidden)]
#[macro_export]
macro_rules! __located_call {
    ($function:path, $value:expr) => {
        $function(&$value)
    };
}
