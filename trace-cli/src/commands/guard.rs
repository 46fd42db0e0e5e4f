//! The process that completes the archive if `trace record` is killed.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use trace_manager::{run_guard, GuardOutcome};

use super::record::SOCKET_NAME;
use crate::cli::GuardArgs;
use crate::message::{plural, HINT};
use crate::{descriptors, exit};

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
    let code = report(run_guard(socket));
    if let Some(private) = &args.private {
        // The socket does not exist if the recording ended by itself.
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
            crate::say(&format!("the recorder was killed: the archive {archive} is complete"));
            if missing != 0 {
                crate::say(&format!(
                    "{missing} {} missing in it, because the disk was too slow",
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
