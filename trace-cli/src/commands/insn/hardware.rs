//! `trace insn record --engine hardware`: perf records, and this program imports it.

use std::process::Command;

use anyhow::{anyhow, Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use trace_insntrace::hardware::Pmu;

use super::imported::import;
use crate::cli::InsnRecordArgs;
use crate::message::{counted, describe, HINT};
use crate::{exit, say};

/// The event of perf: branches of user space.
const EVENT: &str = "intel_pt//u";

pub(super) fn run(args: &InsnRecordArgs) -> Result<u8> {
    match record(args) {
        Ok(()) => Ok(exit::OK),
        Err(error) => {
            say(&describe(error.as_ref()));
            Ok(exit::RECORD_FAILED)
        }
    }
}

fn record(args: &InsnRecordArgs) -> Result<()> {
    Pmu::find().map_err(|missing| {
        anyhow!("cannot trace by hardware: {missing}{HINT}--engine step traces on any processor")
    })?;
    let has_part = args.function.is_some() || args.in_scope.is_some() || !args.snapshot.is_empty();
    if args.range.is_some() || args.budget.is_some() || has_part {
        return Err(anyhow!("--engine hardware traces all instructions, without a --budget"));
    }
    // A signal to the process group ends perf, which then completes its file.
    let _signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]).context("cannot watch for signals")?;
    let folder = tempfile::tempdir().context("cannot create a temporary directory")?;
    let file = folder.path().join("perf.data");
    let mut perf = Command::new("perf");
    perf.args(["record", "--quiet", "-e", EVENT, "-o"]).arg(&file);
    match args.attach {
        Some(process) => perf.args(["-p", &process.to_string()]),
        None => perf.arg("--").args(&args.program),
    };
    let status = perf.status().context("cannot run perf")?;
    let recording = import(&file, &args.output)
        .with_context(|| format!("perf has recorded nothing that can be read ({status})"))?;
    let threads = counted(recording.traces().len() as u64, "thread", "threads");
    say(&format!("{threads} recorded in {}", args.output.display()));
    Ok(())
}
