//! The executables and libraries that tests use, built once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Builds the executables, libraries and examples in the profile of this test, and returns their
/// directory. The library of `trace-xray-runtime` is the one that `trace record --xray` preloads.
///
/// Cargo builds neither another package's binary nor, for a single test, the examples.
pub(crate) fn products() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build)
}

/// Builds all at once, as `.ci/build` does: another selection makes another program at the same
/// path, also while a test runs it.
fn build() -> PathBuf {
    let test = std::env::current_exe().expect("the test knows where it is");
    let profile = test.ancestors().nth(2).expect("tests are in TARGET/PROFILE/deps").to_owned();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--workspace", "--bins", "--lib", "--examples"]);
    cargo.arg("--target-dir").arg(profile.parent().expect("as above"));
    cargo.arg("--manifest-path").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo runs").success(), "the programs are built");
    profile
}
