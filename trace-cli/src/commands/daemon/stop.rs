//! `trace daemon --stop`

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use anyhow::{bail, Context, Result};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};

use crate::daemon_client::connect;
use crate::exit;
use crate::message::{say, HINT};

/// Ends the daemon as SIGTERM does, and returns when it has ended.
pub(super) fn run(socket: Option<&Path>) -> Result<u8> {
    let pid = connect(socket)?.daemon_pid();
    let failed = || format!("cannot stop process {pid}");
    let process = open(pid).with_context(failed)?;
    // With its descriptor open, the id cannot mean another process.
    if !is_daemon(pid) {
        bail!(
            "process {pid}, which has created the daemon's socket, is not `trace daemon`{HINT}stop \
             the service, such as with systemctl stop trace.socket trace-control.socket trace.service"
        );
    }
    pidfd_send_signal(&process, Signal::Term).with_context(failed)?;
    wait(&process).with_context(failed)?;
    say(&format!("the daemon, process {pid}, has ended"));
    Ok(exit::OK)
}

fn open(pid: u32) -> Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).context("it has no id here")?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Returns whether a process was started as `trace daemon`.
fn is_daemon(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(b"daemon")
}

/// Waits until a process has ended.
fn wait(process: &OwnedFd) -> Result<()> {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], -1) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
