//! Each mistake in `ui/` must be reported at the caller's code, with advice, as in the `.stderr`
//! file beside it.
//!
//! After a message changes, run `TRYBUILD=overwrite cargo test -p trace-runtime --test ui` and
//! review the changed files.
//!
//! Without `attributes`, errors of arguments are reported at the whole macro call.

#[test]
#[cfg(all(target_os = "linux", feature = "attributes", not(feature = "ntrace")))]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
