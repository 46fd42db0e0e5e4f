//! Our decoders and encoder against libipt's, in a driver that is compiled for the test.
//!
//! The tests require a C compiler, `intel-pt.h` and `libipt.so` (Debian: `libipt-dev`), so they are
//! ignored by default. `.ci/insntrace` runs them.

mod flow;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod listed;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../common/listed.rs"]
mod lists;
#[path = "../common/machine.rs"]
mod machine;
mod packets;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../common/programs.rs"]
mod programs;
#[path = "../common/random.rs"]
mod random;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod service;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../common/stepped.rs"]
mod stepped;
mod times;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A driver that is compiled once, and a directory of its own for each caller's files.
struct Libipt {
    directory: tempfile::TempDir,
}

impl Libipt {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns what the driver prints.
    fn run(&self, command: &str, arguments: &[&Path]) -> String {
        let output = Command::new(driver()).arg(command).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libipt-driver");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/libipt/driver.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let arguments = ["-O2", "-Wall", "-Wextra", "-Werror", source, "-lipt", "-o"];
        let status = Command::new(compiler).args(arguments).arg(&path).status().unwrap();
        assert!(status.success(), "the driver needs libipt-dev");
        path
    })
}
