//! The process that completes the archive if this one is killed.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trace_manager::Guard;

use super::logs::LogOutput;
use crate::message::describe;

/// How long the guard may take to end after the session.
const PATIENCE: Duration = Duration::from_secs(1);

/// The guard's process. Dropping it, after the session, waits for the process.
#[derive(Debug)]
pub(crate) struct Process(Child);

/// Starts a guard, which removes `private` and writes `logs` if this process is killed. If the
/// guard cannot start, recording continues without it.
pub(crate) fn start(
    private: Option<&Path>,
    logs: Option<&LogOutput>,
) -> (Option<Guard>, Option<Process>) {
    match try_start(private, logs, None) {
        Ok((guard, process)) => (Some(guard), Some(process)),
        Err(error) => {
            crate::say(&format!(
                "cannot start the guard: {}\nhint: the archive is incomplete if this command is killed",
                describe(&error)
            ));
            (None, None)
        }
    }
}

/// Starts a guard, which removes `private` if this process is killed, and which writes `logs` then,
/// or notes the time in the file of the session.
pub(crate) fn try_start(
    private: Option<&Path>,
    logs: Option<&LogOutput>,
    session: Option<&Path>,
) -> io::Result<(Guard, Process)> {
    let (guard, theirs) = Guard::pair()?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("trace-guard").arg("guard").args(private);
    if let Some(logs) = logs {
        let nanos = u64::try_from(logs.options.min_duration.as_nanos()).unwrap_or(u64::MAX);
        command.arg("--logs-of").arg(&logs.archive).arg(format!("--min-nanos={nanos}"));
        command.arg(format!("--log-version={}", logs.options.version.number()));
    }
    if let Some(session) = session {
        command.arg("--session").arg(session);
    }
    let child = command
        .stdin(theirs)
        .stdout(Stdio::null())
        // Signals to this command's process group, such as Ctrl-C, must not reach the guard.
        .process_group(0)
        .spawn()?;
    Ok((guard, Process(child)))
}

impl Process {
    /// Returns whether it has not ended.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && self.is_running() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
