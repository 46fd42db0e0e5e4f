//! What the macros of trace points say where a call of one has another form.

/// Says what was expected. The last arm of a macro leads here, so that calls of the right form do
/// not take longer to compile.
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
            "expected arguments behind category and name, as in `(\"category\", \"name\", \"key\" => value)`"
        )
    };
    (scope) => {
        ::core::compile_error!(
            "expected arguments behind category and name, as in `(\"category\", \"name\", \"key\" => value)`, or before them \
             a scope, as in `(\"category\", \"name\", Scope::Process, \"key\" => value)`"
        )
    };
    (id) => {
        ::core::compile_error!(
            "expected an id behind category and name, and then arguments, as in `(\"category\", \"name\", id, \"key\" => value)`; \
             `trace_nonce!()` makes ids"
        )
    };
    (literals_and_id) => {
        ::core::compile_error!(
            "expected category and name, which are literals, an id, and then arguments, as in \
             `(\"category\", \"name\", id, \"key\" => value)`; `trace_nonce!()` makes ids"
        )
    };
    (counter) => {
        ::core::compile_error!(
            "expected an id behind category and name, and then one value or more, as in `(\"category\", \"name\", 0, \"series\" => value)`; \
             the id is 0 where there is one counter of that name"
        )
    };
    (instaflow) => {
        ::core::compile_error!(
            "expected category, the flow's name, the step's name, an id, and then arguments, as in \
             `(\"category\", \"flow\", \"step\", id, \"key\" => value)`; `trace_nonce!()` makes ids"
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
            "expected a category, and then what `format!` takes, as in `(\"category\", \"{} lines\", lines)`"
        )
    };
    (alert) => {
        ::core::compile_error!(
            "expected a name, or category and name, which are literals, as in `(\"category\", \"name\")`; \
             `raise_alert` takes a name that is known at run time only"
        )
    };
}
