//! Robustness tests with whole processes: kills, forks, panics, signals, hangs, and all ways of
//! ending.

#[path = "../harness/mod.rs"]
mod harness;

mod alerts;
mod clocks;
mod comparing;
mod conditions;
mod daemon;
mod descriptors;
mod ending;
mod following;
mod forging;
mod forking;
mod full_disks;
mod hanging;
mod hostile_manager;
#[cfg(target_arch = "x86_64")]
mod instruction_scopes;
#[cfg(target_arch = "x86_64")]
mod instruction_snapshots;
mod instruments;
mod kept_archives;
mod killing;
mod llvm_tools;
mod locked_memory;
mod losses;
mod namespaces;
mod other_users;
mod outputs;
mod private_socket;
mod record_command;
mod record_places;
mod rotation;
mod sessions;
mod signals;
mod sleds;
mod slow_paths;
mod snapshot_limits;
mod threads;
mod trigger_causes;
mod trigger_commands;
mod trigger_endings;
mod unwinding;
mod watched;
mod xray_logs;

/// If this variable is set, tests fail that would be skipped because this machine lacks root or a
/// tool: `.ci/run` sets it where it has them all.
const REQUIRED: &str = "TRACE_ROBUST_REQUIRED";

/// Reports that a test, or a part of it, is skipped because this machine lacks something.
fn lacks(requirement: &str) {
    let is_required = std::env::var_os(REQUIRED).is_some_and(|value| !value.is_empty());
    assert!(!is_required, "the test requires {requirement} ({REQUIRED} is set)");
    eprintln!("skipped: requires {requirement}");
}

/// Returns whether this process runs as root, which can act as other users. Reports if it does not.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        lacks("root");
    }
    is_root
}
