//! Each mistake in `ui/` is reported as in the `.stderr` file beside it: at the wrong token, with a
//! correction.
//!
//! After a change of a message, `TRYBUILD=overwrite cargo test -p trace-macros --test ui` updates
//! the files. Review them.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
