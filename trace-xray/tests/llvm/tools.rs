//! Running of LLVM's tools.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A directory with files for the tools.
pub(crate) struct Work(TempDir);

impl Work {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// Runs a command of `llvm-xray`; returns its output, or its messages if it fails.
pub(crate) fn xray<A: AsRef<OsStr>>(arguments: &[A]) -> Result<String, String> {
    let output = Command::new("llvm-xray-19").args(arguments).output();
    let output = output.expect("llvm-xray-19 is installed; .ci/xray does it");
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Returns what `llvm-xray fdr-dump` prints of a log.
pub(crate) fn dump(log: &[u8]) -> Result<String, String> {
    let work = Work::new();
    let file = work.file("log", log);
    xray(&["fdr-dump".as_ref(), file.as_os_str()])
}

/// Checks a log with `llvm-xray fdr-dump -verify`.
pub(crate) fn verify(log: &[u8]) -> Result<String, String> {
    let work = Work::new();
    let file = work.file("log", log);
    xray(&["fdr-dump".as_ref(), "-verify".as_ref(), file.as_os_str()])
}

/// Returns the records of a log as `llvm-xray convert -f yaml` has them, without names.
pub(crate) fn yaml(log: &[u8]) -> Result<String, String> {
    let work = Work::new();
    let file = work.file("log", log);
    xray(&["convert".as_ref(), "-f".as_ref(), "yaml".as_ref(), file.as_os_str()])
}

/// Compiles a program with XRay.
pub(crate) fn compile(work: &Work, source: &Path, name: &str, options: &[&str]) -> PathBuf {
    let program = work.path().join(name);
    let status = Command::new("clang++-19")
        .args(["-std=c++17", "-O2", "-fxray-instrument", "-Wno-unused-command-line-argument"])
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg("-lpthread")
        .status();
    assert!(status.expect("clang++-19 is installed; .ci/xray does it").success());
    program
}

pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/llvm").join(name)
}
