//! The process that records the kernel's events.

mod options;
mod result;

use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use trace_manager::Manager;

use crate::cli::RecordArgs;
use crate::message::describe;

pub(super) use options::{check, hint_of_samples, is_only, is_selected, select};
pub(crate) use options::{helper, of_kernel, HelperOptions, HelperScope, SCHED};
pub(super) use result::categories_without_events;
pub(crate) use result::{KernelResult, TOTALS};

/// The line by which the helper reports that it records.
pub(crate) const READY: &str = "ready";

/// The longest time in which the helper writes its last records and ends.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest time in which the helper begins to record.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The helper. It ends when this is dropped, or when this process is killed.
#[derive(Debug)]
pub(crate) struct Kernel {
    process: Child,
    lines: BufReader<ChildStdout>,
}

/// The selected events of the kernel.
pub(super) enum KernelEvents {
    /// The helper records them.
    Recorded(Kernel),
    /// The helper could not record, and has reported the reason.
    Failed,
}

impl KernelEvents {
    /// Starts the helper and waits until it records. The calling thread starts the command.
    /// Recording continues without the helper if it cannot record.
    pub(super) fn start(manager: &Manager, args: &RecordArgs) -> Self {
        Kernel::start(manager, args).map_or(Self::Failed, Self::Recorded)
    }

    /// Ends the helper.
    pub(super) fn end(self) -> KernelResult {
        match self {
            Self::Recorded(kernel) => kernel.end(),
            Self::Failed => KernelResult::default(),
        }
    }
}

impl Kernel {
    /// Starts the helper and waits until it records. The calling thread starts the command. If the
    /// helper cannot record, it has reported the reason, and recording continues without it.
    fn start(manager: &Manager, args: &RecordArgs) -> Option<Self> {
        let started = Self::spawn(manager, args).and_then(Self::wait_until_ready);
        started.unwrap_or_else(|error| {
            crate::say(&format!("cannot trace the kernel: {}", describe(&error)));
            None
        })
    }

    /// Waits until the helper records. Returns `None` if it has reported an error.
    pub(crate) fn wait_until_ready(mut self) -> io::Result<Option<Self>> {
        if !self.wait_for_output(START_TIMEOUT) {
            let reason = "the process trace-kernel did not start in time and was killed";
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        if self.line()? == READY {
            return Ok(Some(self));
        }
        match self.process.wait()?.code() {
            Some(_) => Ok(None),
            None => Err(io::Error::other("the process trace-kernel was killed")),
        }
    }

    fn spawn(manager: &Manager, args: &RecordArgs) -> io::Result<Self> {
        Self::of_process(manager.spawn_machine_provider(&mut helper(&options::options(args)?))?)
    }

    /// Returns the helper that a process is.
    pub(crate) fn of_process(mut process: Child) -> io::Result<Self> {
        let stdout = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, lines: BufReader::new(stdout) })
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the helper's next line; an empty one if it has ended.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Ends the helper. Reports if it has ended before.
    pub(crate) fn end(mut self) -> KernelResult {
        drop(self.process.stdin.take());
        let reason = match self.wait_for_output(END_TIMEOUT) {
            true => "ended",
            false => "did not end in time and was killed",
        };
        let line = self.line().unwrap_or_default();
        let numbers = result::parse(&line);
        if numbers.is_none() {
            let event = "later events of the kernel are missing";
            crate::say(&format!("{event}: the process trace-kernel {reason}"));
        }
        KernelResult { pid: Some(self.id()), numbers, is_of_daemon: false }
    }

    /// Waits until the helper sends a line or ends. Kills it at the timeout and returns false.
    fn wait_for_output(&mut self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let milliseconds = i32::try_from(rest.as_millis()).unwrap_or(i32::MAX);
            let mut output = [PollFd::new(self.lines.get_ref(), PollFlags::IN)];
            match poll(&mut output, milliseconds) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) => {
                    let _ended = self.process.kill();
                    return false;
                }
                // If waiting fails, reading shows why.
                Ok(_) | Err(_) => return true,
            }
        }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.wait_for_output(END_TIMEOUT);
        let _status = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_helper_that_does_not_end_is_killed() {
        let kernel = |program: &str, argument: &str| {
            let mut command = Command::new(program);
            let mut process = command.arg(argument).stdout(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(process.stdout.take().unwrap());
            Kernel { process, lines }
        };
        let mut hanging = kernel("sleep", "infinity");
        assert!(!hanging.wait_for_output(Duration::from_millis(10)));
        assert_eq!(hanging.line().unwrap(), "", "it has ended");
        let mut ready = kernel("echo", "totals 12 5 3 0 0 true");
        assert!(ready.wait_for_output(END_TIMEOUT));
        let pid = Some(ready.id());
        let numbers = result::parse("totals 12 5 3 0 0 true");
        assert_eq!(ready.end(), KernelResult { pid, numbers, is_of_daemon: false });
    }
}
