//! `trace daemon --stop`

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{
    geteuid, pidfd_open, pidfd_send_signal, test_kill_process, Pid, PidfdFlags, Signal,
};
use trace_convert::visible;
use trace_manager::controller::{Controller, ControllerError, ErrorCode, StopError, Summary};
use trace_manager::SessionSummary;

use crate::daemon_client::connect;
use crate::exit;
use crate::message::{describe, say, say_after, HINT};
use crate::recorders::PATIENCE;

/// A daemon that takes longer to end is waited for with a message.
const SOON: Duration = Duration::from_secs(2);

/// Ends the daemon as SIGTERM does, and returns when it has ended. Names the sessions whose
/// archives are not complete.
pub(super) fn run(socket: Option<&Path>) -> Result<u8> {
    let controller = connect(socket)?;
    let pid = controller.daemon_pid();
    let failed = || format!("cannot stop process {pid}");
    let process = open(pid).with_context(failed)?;
    // With its descriptor open, the id cannot mean another process.
    if !is_daemon(pid) {
        bail!(
            "process {pid}, which has created the daemon's socket, is not `trace daemon`{HINT}stop \
             the service, such as with systemctl stop trace.socket trace-control.socket trace.service"
        );
    }
    // Fails before it stops sessions, if the process is another user's.
    Pid::from_raw(i32::try_from(pid)?).map_or(Ok(()), test_kill_process).with_context(failed)?;
    let waits = say_after(SOON, format!("waiting for the daemon, process {pid}, to end"));
    let failures = end(controller, &process).with_context(failed)?;
    wait(&process).with_context(failed)?;
    drop(waits);
    failures.iter().for_each(|failure| say(failure));
    say(&format!("the daemon, process {pid}, has ended"));
    Ok(if failures.is_empty() { exit::OK } else { exit::FAILURE })
}

/// Ends the daemon, and waits for its sessions. Returns messages about those that have failed. A
/// daemon that does not answer ends, too.
fn end(mut controller: Controller, process: &OwnedFd) -> Result<Vec<String>> {
    let signal = || pidfd_send_signal(process, Signal::Term);
    controller.set_timeout(Some(PATIENCE));
    let sessions = match controller.sessions() {
        Ok(sessions) => sessions,
        Err(error) => {
            if let ControllerError::NoAnswer { .. } = error {
                say(&error.to_string());
            }
            signal()?;
            return Ok(Vec::new());
        }
    };
    // Names are those of a user, and root sees the sessions of all.
    let own = sessions.into_iter().filter(|session| session.uid == geteuid().as_raw());
    let names: Vec<String> = own.map(|session| session.name).collect();
    let mut sent = Ok(());
    let results = controller.stop_all(&names, || sent = signal());
    sent?;
    let failures = names.iter().zip(results).filter_map(|(name, result)| failure(name, result));
    Ok(failures.collect())
}

/// Returns a message about a session whose archive is not complete.
fn failure(name: &str, result: Result<Summary, ControllerError>) -> Option<String> {
    // It has no archive, or another command has its results.
    const OTHERS: [ErrorCode; 3] = [
        ErrorCode::Stop(StopError::NotInitialized),
        ErrorCode::Stop(StopError::NotStarted),
        ErrorCode::Stop(StopError::Aborted),
    ];
    let reason = match result {
        Ok(summary) => describe(&SessionSummary::from(summary).archive.err()?),
        Err(ControllerError::Refused(error)) if OTHERS.contains(&error.code) => return None,
        Err(ControllerError::Closed(_)) => {
            "the daemon has ended before the archive was complete".to_owned()
        }
        Err(error) => format!("its results are unknown: {}", describe(&error)),
    };
    Some(format!("session {}: {reason}", visible(name)))
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

#[cfg(test)]
mod tests {
    use trace_manager::controller::{ArchiveFailure, ControlError, GeneralError};

    use super::*;

    #[test]
    fn sessions_without_a_complete_archive_are_named() {
        let refused = |error| {
            let error = ControlError { code: ErrorCode::Stop(error), reason: "why".to_owned() };
            failure("a", Err(ControllerError::Refused(error)))
        };
        assert_eq!(failure("a", Ok(Summary::default())), None);
        assert_eq!((refused(StopError::NotStarted), refused(StopError::Aborted)), (None, None));
        assert_eq!(refused(StopError::NotInitialized), None);
        let bad = ErrorCode::General(GeneralError::BadRequest);
        let error = ControlError { code: bad, reason: "why".to_owned() };
        let unknown = "session a: its results are unknown: why";
        let found = failure("a", Err(ControllerError::Refused(error)));
        assert_eq!(found.as_deref(), Some(unknown));
        let reason = "No space left on device (os error 28)".to_owned();
        let full = ArchiveFailure { reason, bytes: 776, ..ArchiveFailure::default() };
        let full = Summary { failure: Some(full), ..Summary::default() };
        let expected = "session a: the archive ends after 776 bytes: no space left on device";
        assert_eq!(failure("a", Ok(full)).as_deref(), Some(expected));
        let early = failure("a", Err(ControllerError::Closed(None))).unwrap();
        assert_eq!(early, "session a: the daemon has ended before the archive was complete");
    }
}
