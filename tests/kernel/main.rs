//! The kernel's events beside those of an application. The tests require root and tracefs, and are
//! skipped without them.

mod cpus;
#[allow(dead_code, unused_imports, reason = "the harness is for all tests of whole processes")]
#[path = "../harness/mod.rs"]
mod harness;
mod perf;
mod sandbox;
mod schedule;

mod categories;
mod cgroups;
mod counters;
mod disturbed;
mod helper;
mod hotplug;
mod jit;
mod live;
mod offsets;
mod paths;
mod perf_data;
mod replaced;
mod samples;
mod server;
mod sources;
mod starter;
mod states;
mod stolen;
mod truth;
mod uprobes;

use std::path::Path;

use harness::{subject_path, trace, Run};

/// Where tracefs is.
const TRACEFS: &str = "/sys/kernel/tracing";

/// If this variable is set, tests fail that would be skipped because this machine lacks root,
/// tracefs, perf or a tool: `.ci/run` sets it, as its root has them all.
const REQUIRED: &str = "TRACE_KERNEL_REQUIRED";

/// Reports that a test is skipped because this machine lacks something.
fn lacks(requirement: &str) {
    let is_required = std::env::var_os(REQUIRED).is_some_and(|value| !value.is_empty());
    assert!(!is_required, "the test requires {requirement} ({REQUIRED} is set)");
    eprintln!("skipped: requires {requirement}");
}

/// Returns whether this process can trace the kernel. Reports if it cannot.
fn can_trace() -> bool {
    let can = rustix::process::geteuid().is_root()
        && Path::new(TRACEFS).join("instances").exists()
        && Path::new(TRACEFS).join("events/sched/sched_switch").exists();
    if !can {
        lacks("root and tracefs");
    }
    can
}

/// Runs `trace record` with these options and a role of the test program, which succeeds.
fn record(output: &Path, options: &[&str], role: &[&str]) -> Run {
    let mut command = trace(&["record", "-o"]);
    command.arg(output).args(options).arg("--").arg(subject_path()).args(role);
    let run = Run::of(&mut command);
    assert_eq!(run.code(), 0, "{run:?}");
    run
}
