//! The process that `trace record` starts beside itself.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use trace_manager::{run_guard, GuardOutcome};

use super::record::SOCKET_NAME;
use crate::cli::GuardArgs;
use crate::{descriptors, exit};

pub(crate) fn run(args: &GuardArgs) -> Result<u8> {
    // What ends the recording is for the recording to see; the guard ends after it.
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .context("cannot ignore signals")?;
    }
    // For those who look at the list of processes: it would be `exe`.
    let _unnamed = std::fs::write("/proc/self/comm", "trace-guard");
    let socket = io::stdin().as_fd().try_clone_to_owned().context("expected a socket")?;
    descriptors::raise_limit();
    let code = report(run_guard(socket));
    if let Some(private) = &args.private {
        // It is gone already if the recording ended by itself.
        let _gone = std::fs::remove_file(private.join(SOCKET_NAME));
        let _gone = std::fs::remove_dir(private);
    }
    Ok(code)
}

fn report(outcome: GuardOutcome) -> u8 {
    match outcome {
        GuardOutcome::Nothing => exit::OK,
        GuardOutcome::Completed { archive, missing } => {
            let archive = archive.display();
            crate::say(&format!("the manager was killed; the archive {archive} was completed"));
            if missing != 0 {
                crate::say(&format!(
                    "{missing} buffers are missing in it: the disk was too far behind"
                ));
            }
            exit::OK
        }
        GuardOutcome::NotAFile => {
            crate::say(
                "the manager was killed; the archive went to a pipe and ends where it was then",
            );
            exit::INCOMPLETE
        }
        GuardOutcome::Failed { partial, source } => {
            let partial = partial.display();
            crate::say(&format!(
                "the manager was killed, and the archive could not be completed: {source}; \
                 the whole records are in {partial}"
            ));
            exit::FAILURE
        }
    }
}
