//! `trace insn record`: selects what traces, and whether a session records the program, too.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use super::engine_process::{engine_arguments, run_engine};
use super::{attached, hardware};
use crate::cli::{InsnEngine, InsnMode, InsnRecordArgs, InsnSnapshot};
use crate::message::HINT;
use crate::{exit, say};

/// A limit that no duration exceeds. Sites with such a condition announce their scopes.
const NEVER: &str = "18446744073709551615ns";

/// How long a session waits for a program whose instructions are traced.
const PATIENCE: &str = "1m";

pub(super) fn run(args: &InsnRecordArgs) -> Result<u8> {
    if args.mode == InsnMode::Cpu && args.engine != InsnEngine::Hardware {
        say(&format!("--mode cpu requires --engine hardware{HINT}--mode thread is the other one"));
        return Ok(exit::RECORD_FAILED);
    }
    let triggers = triggers(args);
    match (triggers.is_empty(), args.attach) {
        (true, _) if args.engine == InsnEngine::Hardware => hardware::run(args),
        (true, _) => run_engine(),
        (false, None) => record_with_session(args, &triggers),
        (false, Some(pid)) => attached::run(args, pid, triggers),
    }
}

/// Returns the triggers of the session that records the program, too.
fn triggers(args: &InsnRecordArgs) -> Vec<String> {
    let of_scope = args.in_scope.iter().map(|scope| format!("duration:{scope}>{NEVER}"));
    let of_snapshots = args.snapshot.iter().filter_map(InsnSnapshot::trigger);
    of_scope.chain(of_snapshots.map(ToString::to_string)).collect()
}

/// Becomes `trace record`, whose session arms the trace points of a scope or evaluates conditions,
/// and which starts the process that traces.
fn record_with_session(args: &InsnRecordArgs, triggers: &[String]) -> Result<u8> {
    let directory = &args.output;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let this = std::env::current_exe().context("cannot find this program")?;
    let mut record = Command::new(&this);
    record.arg0("trace").arg("record");
    for trigger in triggers {
        record.args(["--trigger", trigger]);
    }
    if !args.snapshot.is_empty() {
        // In steps, a program takes long to register and to reply.
        record.args(["--notify-command", "--start-timeout", PATIENCE, "--stop-timeout", PATIENCE]);
    }
    record.arg("-o");
    record.arg(directory.join("scopes.fxt")).arg("--").arg(this).args(engine_arguments());
    Err(record.exec()).context("cannot start the recording")
}
