//! Each mistake in `ui/` must be reported as the file beside it says: where the caller wrote it,
//! with what to write.
//!
//! After a change of a message, `TRYBUILD=overwrite cargo test -p trace-runtime --test ui` writes
//! those files anew; read them.

#[test]
#[cfg(all(target_os = "linux", not(feature = "ntrace")))]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
