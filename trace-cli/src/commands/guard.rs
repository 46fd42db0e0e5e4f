//! The process that completes the archive if `trace record` is killed.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use trace_manager::{note_end, run_guard, run_guard_with, GuardOutcome};
use trace_xray::fxt::Options;

use crate::cli::GuardArgs;
use crate::message::{describe, plural, HINT};
use crate::recorders::directory;
use crate::{descriptors, exit, logs};

/// How often the guard checks whether the recorder has written its logs.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

pub(crate) fn run(args: &GuardArgs) -> Result<u8> {
    // These signals end the recording; the guard ends after it.
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .context("cannot ignore signals")?;
    }
    // The name that `ps` shows. Without this it would be `exe`.
    let _unnamed = std::fs::write("/proc/self/comm", "trace-guard");
    let socket =
        io::stdin().as_fd().try_clone_to_owned().context("standard input is not a socket")?;
    descriptors::raise_limit();
    let code = match &args.logs_of {
        Some(archive) => report_logs(archive, &options(args), run_guard(socket)),
        None => report(run_guard_with(socket, || note(args.session.as_deref()))),
    };
    if let Some(private) = &args.private {
        // It does not exist if the recording ended by itself.
        directory::remove(private);
    }
    Ok(code)
}

/// Notes that the daemon has ended, for the next one.
fn note(session: Option<&Path>) {
    if let Some(Err(error)) = session.map(note_end) {
        // The session has ended if its file is missing.
        if error.kind() != io::ErrorKind::NotFound {
            crate::say(&format!("cannot note the end of the daemon: {}", describe(&error)));
        }
    }
}

/// Returns the options of the logs.
fn options(args: &GuardArgs) -> Options {
    let min_duration = Duration::from_nanos(args.min_nanos);
    Options { min_duration, version: args.log_version.unwrap_or_default() }
}

/// Converts the archive at `archive` to logs, if the recorder is killed before it has done that.
fn report_logs(archive: &Path, options: &Options, outcome: GuardOutcome) -> u8 {
    if let GuardOutcome::Failed { .. } | GuardOutcome::Stream = outcome {
        return report(outcome);
    }
    // The recorder removes or renames the archive.
    while Some(parent_id()) == logs::recorder_of(archive) && archive.exists() {
        std::thread::sleep(CHECK_INTERVAL);
    }
    match logs::convert_hidden(archive, options, logs::PATIENCE) {
        Ok(None) => exit::OK,
        Ok(Some(_)) => {
            let directory = archive.parent().unwrap_or(archive).display();
            crate::say(&format!("the recorder was killed: the logs in {directory} are complete"));
            report_missing(outcome);
            exit::OK
        }
        Err(error) => {
            let (reason, directory) = (describe(error.as_ref()), archive.parent());
            let directory = directory.unwrap_or(archive).display();
            crate::say(&format!(
                "the recorder was killed, and its logs cannot be written: {reason}{HINT}\
                 trace recover {directory} writes them"
            ));
            exit::FAILURE
        }
    }
}

/// Reports the buffers that are missing in the logs.
fn report_missing(outcome: GuardOutcome) {
    if let GuardOutcome::Completed { missing: missing @ 1.., .. } = outcome {
        let are = plural(missing, "buffer is", "buffers are");
        crate::say(&format!("up to {missing} {are} missing in them: the disk was too slow"));
    }
}

fn report(outcome: GuardOutcome) -> u8 {
    match outcome {
        GuardOutcome::Nothing => exit::OK,
        GuardOutcome::Completed { archive, missing } => {
            let archive = archive.display();
            crate::say(&format!("the recorder was killed: the archive {archive} is complete"));
            if missing != 0 {
                crate::say(&format!(
                    "up to {missing} {} missing in it: the disk was too slow",
                    plural(missing, "buffer is", "buffers are")
                ));
            }
            exit::OK
        }
        GuardOutcome::Stream => {
            crate::say("the recorder was killed: the archive in the pipe is truncated");
            exit::INCOMPLETE
        }
        GuardOutcome::Failed { partial, source } => {
            let partial = partial.display();
            crate::say(&format!(
                "the recorder was killed, and the archive cannot be completed: {source}\
                 {HINT}the complete records are in {partial}"
            ));
            exit::FAILURE
        }
    }
}
