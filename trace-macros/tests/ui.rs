//! Each mistake in `ui/` must be reported as the file beside it says: at the wrong token, with what
//! to write.
//!
//! After a change of a message, `TRYBUILD=overwrite cargo test -p trace-macros --test ui` writes
//! those files anew; read them.

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
