//! Compile errors for malformed calls of trace points.

/// Reports the expected form. Called by the last arm of a macro, so correct calls do not take
/// longer to compile.
#[doc(hidden)]
#[macro_export]
macro_rules! __trace_expected {
    (names) => {
        ::core::compile_error!(
            "expected category and name first, as in `(\"category\", \"name\", \"key\" => value)`"
        )
    };
    (arguments) => {
        ::core::compile_error!(
            "expected arguments after category and name, as in `(\"category\", \"name\", \"key\" => value)`"
        )
    };
    (scope) => {
        ::core::compile_error!(
            "expected arguments after category and name, as in `(\"category\", \"name\", \"key\" => value)`, or a scope \
             before them, as in `(\"category\", \"name\", InstantScope::Process, \"key\" => value)`"
        )
    };
    (id) => {
        ::core::compile_error!(
            "expected an id after category and name, and then arguments, as in `(\"category\", \"name\", id, \"key\" => value)`; \
             `trace_nonce!()` returns ids"
        )
    };
    (literals_and_id) => {
        ::core::compile_error!(
            "expected literals for category and name, an id, and then arguments, as in \
             `(\"category\", \"name\", id, \"key\" => value)`; `trace_nonce!()` returns ids"
        )
    };
    (counter) => {
        ::core::compile_error!(
            "expected an id after category and name, and then at least one value, as in `(\"category\", \"name\", 0, \"series\" => value)`; \
             use the id 0 if there is one counter of that name"
        )
    };
    (instaflow) => {
        ::core::compile_error!(
            "expected category, the flow's name, the step's name, an id, and then arguments, as in \
             `(\"category\", \"flow\", \"step\", id, \"key\" => value)`; `trace_nonce!()` returns ids"
        )
    };
    (bytes) => {
        ::core::compile_error!(
            "expected category, name, data, and then arguments, as in `(\"category\", \"name\", bytes, \"key\" => value)`"
        )
    };
    (attachment) => {
        ::core::compile_error!("expected category, name and data, as in `(\"category\", \"name\", bytes)`")
    };
    (log) => {
        ::core::compile_error!(
            "expected a category, and then the arguments of `format!`, as in `(\"category\", \"{} lines\", lines)`"
        )
    };
    (alert) => {
        ::core::compile_error!(
            "expected literals for the name, or for category and name, as in `(\"category\", \"name\")`; \
             `raise_alert` accepts names that are known only at run time"
        )
    };
}
