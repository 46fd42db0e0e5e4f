//! Commands of triggers.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use rustix::process::{kill_process_group, waitid, Pid, Signal, WaitId, WaitidOptions};

use super::{Cause, Condition, TriggerRule};

/// The most commands that wait for the one that runs.
const MAX_WAITING: usize = 16;

/// A command to run with the path of an archive.
type Job = (TriggerRule, PathBuf);

/// The commands of a session's triggers. They run one after another, on a thread of their own, for
/// which the session does not wait. Commands that were added run even if this is dropped.
#[derive(Debug)]
pub struct TriggerCommands {
    rules: Vec<TriggerRule>,
    jobs: Sender<Job>,
    runner: Arc<Runner>,
    /// The newest part whose commands were added.
    last_part: Mutex<Option<PathBuf>>,
}

/// Ends the commands of a session.
#[derive(Debug, Clone)]
pub struct CommandStopper(Arc<Runner>);

/// A function that prints or logs a message about a command.
type Report = Box<dyn Fn(&str) + Send + Sync>;

struct Runner {
    report: Report,
    state: Mutex<State>,
    /// Notified at the end of the thread.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The process group of the command that runs.
    group: Option<Pid>,
    /// Whether no further command runs.
    is_stopped: bool,
    has_ended: bool,
}

impl TriggerCommands {
    /// Starts the thread, if a trigger has a command. `report` gets a message about each command
    /// that fails or does not run.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn start(
        rules: &[TriggerRule],
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let rules = rules.iter().filter(|rule| rule.actions.run.is_some()).cloned();
        let rules: Vec<TriggerRule> = rules.collect();
        let state = State { has_ended: rules.is_empty(), ..State::default() };
        let (state, ended) = (Mutex::new(state), Condvar::new());
        let runner = Arc::new(Runner { report: Box::new(report), state, ended });
        let (jobs, receiver) = crossbeam_channel::unbounded();
        if !rules.is_empty() {
            let runner = Arc::clone(&runner);
            let thread = thread::Builder::new().name("trace-run".to_owned());
            thread.spawn(move || runner.run_all(&receiver))?;
        }
        Ok(Self { rules, jobs, runner, last_part: Mutex::default() })
    }

    /// Returns a handle that ends the commands, also after this is dropped.
    pub fn stopper(&self) -> CommandStopper {
        CommandStopper(Arc::clone(&self.runner))
    }

    /// Adds the commands of the triggers that took a snapshot. If too many wait, they do not run.
    pub fn on_snapshot(&self, causes: &[Cause], snapshot: &Path) {
        for rule in self.of_snapshot(causes) {
            if self.jobs.len() < MAX_WAITING {
                self.add(rule, snapshot);
            } else {
                let reason = format!("{MAX_WAITING} commands wait before it");
                self.runner.report_skipped(rule, reason);
            }
        }
    }

    /// Adds the commands of the triggers that took a snapshot, which are the last ones.
    pub fn on_last_snapshot(&self, causes: &[Cause], snapshot: &Path) {
        self.of_snapshot(causes).for_each(|rule| self.add(rule, snapshot));
    }

    /// Returns the number of commands that a snapshot with these causes has.
    pub fn count(&self, causes: &[Cause]) -> usize {
        self.of_snapshot(causes).count()
    }

    /// Adds the commands of the trigger that stopped the session, whose archive is complete.
    pub fn on_end(&self, cause: &Cause, archive: &Path) {
        let of_end = |rule: &&TriggerRule| rule.ends_session() && rule.cause() == *cause;
        self.rules.iter().filter(of_end).for_each(|rule| self.add(rule, archive));
    }

    /// Adds the commands for a part of the archive that has its name. Any number of them waits: the
    /// session keeps the parts, or removes them before.
    pub fn on_part(&self, part: &Path) {
        let of_part = |rule: &&TriggerRule| rule.condition == Condition::Part;
        self.rules.iter().filter(of_part).for_each(|rule| self.add(rule, part));
        *self.last_part.lock().unwrap_or_else(PoisonError::into_inner) = Some(part.to_owned());
    }

    /// Adds the commands for those of all parts that came after the last one of
    /// [`on_part`](Self::on_part). `parts` are in the order of time.
    pub fn on_last_parts(&self, parts: &[PathBuf]) {
        let last = self.last_part.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known = last.and_then(|last| parts.iter().rposition(|part| *part == last));
        let rest = parts.get(known.map_or(0, |known| known + 1)..).unwrap_or_default();
        rest.iter().for_each(|part| self.on_part(part));
    }

    /// Returns the triggers whose commands run on a snapshot. Those of triggers that end the
    /// session run once, on the archive.
    fn of_snapshot<'a>(&'a self, causes: &'a [Cause]) -> impl Iterator<Item = &'a TriggerRule> {
        let rules = self.rules.iter().filter(|rule| rule.actions.snapshot && !rule.ends_session());
        rules.filter(|rule| causes.contains(&rule.cause()))
    }

    fn add(&self, rule: &TriggerRule, archive: &Path) {
        // Fails only if the thread has panicked.
        let _ = self.jobs.send((rule.clone(), archive.to_owned()));
    }
}

impl CommandStopper {
    /// Sends SIGTERM to the process group of the command that runs. Those that wait do not run.
    pub fn terminate(&self) {
        self.0.stop(Signal::Term);
    }

    /// Kills the process group of the command that runs. Those that wait do not run.
    pub fn kill(&self) {
        self.0.stop(Signal::Kill);
    }

    /// Waits until all commands have ended, for at most `timeout`. Returns whether they have.
    pub fn wait(&self, timeout: Duration) -> bool {
        let is_running = |state: &mut State| !state.has_ended;
        let waited = self.0.ended.wait_timeout_while(self.0.state(), timeout, is_running);
        waited.map_or(true, |(state, _)| state.has_ended)
    }
}

/// Reports the end of the thread, also after a panic, so that no caller waits for it forever.
struct EndOnDrop<'a>(&'a Runner);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state().has_ended = true;
        self.0.ended.notify_all();
    }
}

impl Runner {
    /// Runs commands until all [`TriggerCommands`] are dropped.
    fn run_all(&self, jobs: &Receiver<Job>) {
        let _end = EndOnDrop(self);
        for (rule, archive) in jobs {
            if let Err(reason) = self.run(&rule, &archive) {
                self.report_skipped(&rule, reason);
            }
        }
    }

    /// Runs a command, and reports its failure. Fails if it cannot be started.
    fn run(&self, rule: &TriggerRule, archive: &Path) -> Result<(), String> {
        let path = std::path::absolute(archive).unwrap_or_else(|_| archive.to_owned());
        if !path.exists() {
            return Err(format!("its archive {} was removed before", path.display()));
        }
        let mut shell = shell(rule, &path);
        let ended = match self.spawn(&mut shell)? {
            Some(child) => self.wait(child).map_err(|error| error.to_string())?,
            None => return Err("commands are stopped".to_owned()),
        };
        if !ended.success() {
            (self.report)(&format!("the command of {} failed: {ended}", rule.condition));
        }
        Ok(())
    }

    /// Starts a command. Returns `None` if no further command runs.
    fn spawn(&self, shell: &mut Command) -> Result<Option<Child>, String> {
        // With the lock, a command that is started is also stopped.
        let mut state = self.state();
        if state.is_stopped {
            return Ok(None);
        }
        let child = shell.spawn().map_err(|error| format!("cannot start /bin/sh: {error}"))?;
        state.group = Some(Pid::from_child(&child));
        Ok(Some(child))
    }

    /// Waits for the end of a command.
    fn wait(&self, mut child: Child) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(&child);
        let options = WaitidOptions::EXITED | WaitidOptions::NOWAIT;
        // The number of the group is not used again before the command is reaped.
        while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
        self.state().group = None;
        child.wait()
    }

    fn stop(&self, signal: Signal) {
        let mut state = self.state();
        state.is_stopped = true;
        if let Some(group) = state.group {
            // Fails if the group has ended.
            let _ = kill_process_group(group, signal);
        }
    }

    fn report_skipped(&self, rule: &TriggerRule, reason: impl fmt::Display) {
        (self.report)(&format!("the command of {} does not run: {reason}", rule.condition));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the shell for a command, whose first parameter is the path of an archive. Its standard
/// output is the standard error of this process.
fn shell(rule: &TriggerRule, archive: &Path) -> Command {
    let command = rule.actions.run.as_deref().unwrap_or_default();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command, "trace"]).arg(archive).env("TRACE_ARCHIVE", archive);
    shell.env("TRACE_CONDITION", rule.condition.to_string());
    shell.stdin(Stdio::null()).process_group(0);
    if let Ok(stderr) = io::stderr().as_fd().try_clone_to_owned() {
        shell.stdout(stderr);
    }
    shell
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("state", &self.state).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any command of these tests takes.
    const PATIENCE: Duration = Duration::from_secs(600);

    /// Starts a command that ignores SIGTERM and runs as long as its archive exists. Returns when
    /// it runs.
    fn endless(directory: &Path) -> TriggerCommands {
        let command = "trap '' TERM; touch \"$1.runs\"; while test -e \"$1\"; do sleep 0.01; done";
        let rule: TriggerRule = format!("death:stop:run:{command}").parse().unwrap();
        let commands = TriggerCommands::start(std::slice::from_ref(&rule), |_| {}).unwrap();
        let archive = directory.join("a.fxt");
        std::fs::write(&archive, "").unwrap();
        commands.on_end(&rule.cause(), &archive);
        while !directory.join("a.fxt.runs").exists() {
            thread::sleep(Duration::from_millis(1));
        }
        commands
    }

    #[test]
    fn a_command_that_ignores_signals_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let commands = endless(directory.path());
        let stopper = commands.stopper();
        drop(commands);
        stopper.terminate();
        assert!(!stopper.wait(Duration::ZERO));
        stopper.kill();
        assert!(stopper.wait(PATIENCE));
    }

    #[test]
    fn only_failures_of_commands_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().join("a.fxt");
        std::fs::write(&archive, "").unwrap();
        let parse = |text: &str| text.parse::<TriggerRule>().unwrap();
        let rules = ["death:stop:run:exit 0", "drop:stop:run:exit 3"].map(parse);
        let (reports, reported) = crossbeam_channel::unbounded();
        let report = move |text: &str| reports.send(text.to_owned()).unwrap();
        let commands = TriggerCommands::start(&rules, report).unwrap();
        for rule in &rules {
            commands.on_end(&rule.cause(), &archive);
        }
        let stopper = commands.stopper();
        drop(commands);
        assert!(stopper.wait(PATIENCE));
        let reported: Vec<String> = reported.try_iter().collect();
        assert_eq!(reported, ["the command of drop failed: exit status: 3"]);
    }

    #[test]
    fn a_command_runs_once_for_each_part() {
        let directory = tempfile::tempdir().unwrap();
        let parts: Vec<PathBuf> =
            (1..=20).map(|number| directory.path().join(format!("a.{number}.fxt"))).collect();
        parts.iter().for_each(|part| std::fs::write(part, "").unwrap());
        let rule: TriggerRule = "part:run:echo \"$1\" >>\"${1%/*}/log\"".parse().unwrap();
        let commands = TriggerCommands::start(&[rule], |message| panic!("{message}")).unwrap();
        parts.iter().take(18).for_each(|part| commands.on_part(part));
        commands.on_last_parts(parts.get(10..).unwrap());
        let stopper = commands.stopper();
        drop(commands);
        assert!(stopper.wait(PATIENCE));
        let log = std::fs::read_to_string(directory.path().join("log")).unwrap();
        let lines: Vec<PathBuf> = log.lines().map(PathBuf::from).collect();
        assert_eq!(lines, parts);
    }

    /// There is no thread that could end.
    #[test]
    fn nothing_is_waited_for_without_commands() {
        let rule: TriggerRule = "death:stop".parse().unwrap();
        let commands = TriggerCommands::start(&[rule], |_| {}).unwrap();
        assert!(commands.stopper().wait(Duration::ZERO));
    }
}
