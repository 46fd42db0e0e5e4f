//! `trace kernel-server`

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use anyhow::{Context, Result};
use rustix::net::{shutdown, Shutdown};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use trace_kernel::live::serve;

use crate::exit;
use crate::message::describe;

/// Serves the recorder at standard input.
pub(crate) fn run() -> Result<u8> {
    let clone = || io::stdin().as_fd().try_clone_to_owned().context("cannot use standard input");
    end_at_signal(clone()?)?;
    match serve(clone()?) {
        Ok(()) => Ok(exit::OK),
        Err(error) => {
            crate::say(&describe(&error));
            Ok(exit::FAILURE)
        }
    }
}

/// Ends the connection at a signal, so that the instance is removed.
fn end_at_signal(connection: OwnedFd) -> Result<()> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]).context("cannot watch for signals")?;
    let wait = move || {
        for _signal in signals.forever() {
            // Fails if the recorder has ended it.
            let _ended = shutdown(&connection, Shutdown::ReadWrite);
        }
    };
    thread::Builder::new().spawn(wait).context("cannot start a thread")?;
    Ok(())
}
