//! `trace insn record`: selects what traces, and whether a session records the program, too.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{bail, Context, Result};

use super::engine_process::{engine_arguments, run_engine};
use super::{hardware, session};
use crate::cli::{InsnEngine, InsnMode, InsnRecordArgs};
use crate::message::{describe, HINT};
use crate::{exit, say};

/// How long a session waits for a program whose instructions are traced.
const PATIENCE: &str = "1m";

pub(super) fn run(args: &InsnRecordArgs) -> Result<u8> {
    Ok(record(args).unwrap_or_else(|error| failed(&error)))
}

/// Reports why recording has failed, and returns the exit code.
pub(super) fn failed(error: &anyhow::Error) -> u8 {
    say(&describe(error.as_ref()));
    exit::RECORD_FAILED
}

fn record(args: &InsnRecordArgs) -> Result<u8> {
    if args.mode == InsnMode::Cpu && args.engine != InsnEngine::Hardware {
        say(&format!("--mode cpu requires --engine hardware{HINT}--mode thread is the other one"));
        return Ok(exit::RECORD_FAILED);
    }
    // The processor's has a message of its own, with all options that it lacks.
    if args.engine == InsnEngine::Block && (args.function.is_some() || args.in_scope.is_some()) {
        let hint = "the other engines trace all instructions";
        say(&format!("--function and --in-scope require --engine step{HINT}{hint}"));
        return Ok(exit::RECORD_FAILED);
    }
    refuse_earlier(args)?;
    let triggers = session::triggers(args);
    match (triggers.is_empty(), args.attach) {
        (true, _) if args.engine == InsnEngine::Hardware => hardware::run(args),
        (false, None) => record_with_session(args, &triggers),
        // The engine starts the session of a program that runs already.
        (true, _) | (false, Some(_)) => run_engine(),
    }
}

/// Fails if the directory has an earlier recording. A snapshot that finds its name in use comes too
/// late: what it is about may not happen again.
fn refuse_earlier(args: &InsnRecordArgs) -> Result<()> {
    let is_earlier = |name: &str| name == "insn.side.fxt" || name.starts_with("snapshot-");
    // A directory that cannot be read is an error when files are created.
    let Ok(mut entries) = fs::read_dir(&args.output) else { return Ok(()) };
    if entries.any(|entry| entry.is_ok_and(|it| it.file_name().to_str().is_some_and(is_earlier))) {
        let directory = args.output.display();
        bail!("cannot record in {directory}: it has a recording{HINT}choose another directory");
    }
    Ok(())
}

/// Becomes `trace record`, whose session arms the trace points of a scope or evaluates conditions,
/// and which starts the process that traces.
fn record_with_session(args: &InsnRecordArgs, triggers: &[String]) -> Result<u8> {
    let directory = &args.output;
    fs::create_dir_all(directory)
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
