//! What a test requires and a machine may lack.

/// If this variable is set, tests fail that would be skipped because this machine lacks root, a
/// permission or a tool: `.ci/insntrace` sets it.
const REQUIRED: &str = "TRACE_INSN_REQUIRED";

/// Reports that a test, or a part of it, is skipped because this machine lacks something.
#[track_caller]
pub(crate) fn lacks(requirement: &str) {
    let is_required = std::env::var_os(REQUIRED).is_some_and(|value| !value.is_empty());
    assert!(!is_required, "the test requires {requirement} ({REQUIRED} is set)");
    eprintln!("skipped: requires {requirement}");
}
