//! Internal macros to which `#[trace_fn]` expands with tracing compiled out.

/// Type-checks the recorded values: `[id of a flow] [form of the result, result], value, …`.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_fn {
    ([$($id:expr)?] [$($result:tt)*] $(, $value:expr)*) => {
        if false {
            $(let _: ::core::primitive::u64 = $id;)?
            $crate::__ntrace_fn_result!($($result)*);
            $(let _ = $crate::ArgValue::arg(&$value);)*
        }
    };
}

/// Type-checks a function's result, by reference.
#[doc(hidden)]
#[macro_export]
macro_rules! __ntrace_fn_result {
    () => {};
    (ret $result:expr) => {
        let _ = $crate::ArgValue::arg(&$crate::__attribute::required(&$result).__trace_value());
    };
    (err $result:expr) => {
        if let ::core::result::Result::Err(error) = $crate::__attribute::outcome(&$result) {
            let _ = $crate::ArgValue::arg(&$crate::__attribute::required(error).__trace_value());
        }
    };
    (both $result:expr) => {
        $crate::__ntrace_fn_result!(err $result);
        if let ::core::result::Result::Ok(value) = $crate::__attribute::outcome(&$result) {
            let _ = $crate::ArgValue::arg(&$crate::__attribute::required(value).__trace_value());
        }
    };
}
