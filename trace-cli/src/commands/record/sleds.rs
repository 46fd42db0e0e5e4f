//! `--xray`: functions of programs that are built with XRay's sleds, recorded by a library that the
//! loader adds to them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Result};

use crate::cli::RecordArgs;
use crate::message::HINT;

/// The variable that names the library.
const RUNTIME: &str = "TRACE_XRAY_RUNTIME";

const LIBRARY: &str = "libtrace_xray_runtime.so";

/// The settings of the library.
#[derive(Debug)]
pub(super) struct Sleds {
    library: PathBuf,
    functions: String,
}

impl Sleds {
    /// Returns the settings, or `None` without `--xray`.
    pub(super) fn of(args: &RecordArgs) -> Result<Option<Self>> {
        if !args.xray {
            return Ok(None);
        }
        let functions = args.functions.clone().unwrap_or_else(|| "*".to_owned());
        if !has_patterns(&functions) {
            bail!(
                "--functions: the list '{functions}' has no name{HINT}`trace xray map PROGRAM` \
                 lists the functions that can be recorded"
            );
        }
        Ok(Some(Self { library: library()?, functions }))
    }

    /// Has a command and its children load the library.
    pub(super) fn set_variables(&self, command: &mut Command) {
        let preloaded = preloaded(&self.library, env::var_os("LD_PRELOAD"));
        command.env("LD_PRELOAD", preloaded).env("TRACE_XRAY", &self.functions);
        command.env("TRACE_XRAY_FILTERS", filters().to_string());
    }
}

/// Returns whether a list has a pattern that is not empty.
fn has_patterns(list: &str) -> bool {
    list.split(',').any(|pattern| !pattern.trim().trim_start_matches('-').trim().is_empty())
}

/// Returns the number of seccomp filters of this process. The library does nothing in a program
/// with more of them, which could end it.
fn filters() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = |name: &str| {
        let mut lines = status.lines().filter_map(|line| line.strip_prefix(name));
        lines.next()?.trim().parse::<u64>().ok()
    };
    // Kernels before 5.9 state only whether there are some.
    value("Seccomp_filters:").unwrap_or_else(|| u64::from(value("Seccomp:").unwrap_or(0) != 0))
}

/// Returns the library's path: the variable, else beside this program or in `../lib`.
fn library() -> Result<PathBuf> {
    if let Some(path) = env::var_os(RUNTIME).filter(|path| !path.is_empty()) {
        return found(&std::path::absolute(path)?);
    }
    let program = env::current_exe()?;
    let directory = program.parent().unwrap_or(Path::new("/"));
    let places = [directory.join(LIBRARY), directory.join("../lib").join(LIBRARY)];
    let place = places.iter().find(|place| place.is_file()).unwrap_or(&places[0]);
    found(place)
}

fn found(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    if !path.is_file() {
        bail!("cannot find {shown}{HINT}`cargo build --release -p trace-xray-runtime` makes it, in target/release: copy it there, or set {RUNTIME} to its path");
    }
    // LD_PRELOAD is a list.
    if path.as_os_str().as_encoded_bytes().iter().any(|byte| b" :".contains(byte)) {
        bail!(
            "cannot preload {shown}: the path has a space or a colon{HINT}set {RUNTIME} to another"
        );
    }
    Ok(path.to_owned())
}

/// Returns the list of preloaded libraries with this one last: some must be first, such as that of
/// AddressSanitizer.
fn preloaded(library: &Path, others: Option<OsString>) -> OsString {
    let mut list = others.filter(|others| !others.is_empty()).unwrap_or_default();
    if !list.is_empty() {
        list.push(OsStr::new(":"));
    }
    list.push(library);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_names_is_empty() {
        for empty in ["", ",", " , ", "-", "-,-", ",- ,"] {
            assert!(!has_patterns(empty), "{empty:?}");
        }
        assert!(has_patterns(",a") && has_patterns("-a") && has_patterns("*"));
    }

    #[test]
    fn other_preloaded_libraries_stay_first() {
        let library = Path::new("/lib/x.so");
        assert_eq!(preloaded(library, None), "/lib/x.so");
        assert_eq!(preloaded(library, Some("".into())), "/lib/x.so");
        assert_eq!(preloaded(library, Some("/y.so".into())), "/y.so:/lib/x.so");
    }
}
