//! Triggers of the daemon's sessions.

use std::path::{Path, PathBuf};
use std::process;
use std::thread;

use crossbeam_channel::Sender;
use trace_protocol::control::{Output, TraceConfig, TriggerAction};
use trace_protocol::socket::PeerCredentials;

use crate::trigger::{Cause, Condition, TriggerRule};

/// Checks the triggers of a session that this process requests.
pub(super) fn check_rules(config: &TraceConfig, peer: PeerCredentials) -> Result<(), String> {
    let rules: Result<Vec<TriggerRule>, String> =
        config.rules.iter().map(|rule| rule.parse()).collect();
    let rules = rules?;
    if rules.iter().any(|rule| rule.actions.snapshot) && config.output == Output::Descriptor {
        return Err("snapshots of triggers require a directory as the output".to_owned());
    }
    rules.iter().try_for_each(|rule| check_rule(rule, peer))
}

/// Returns whether triggers of the session take snapshots.
pub(super) fn takes_snapshots(config: &TraceConfig) -> bool {
    let is_snapshot =
        |rule: &String| rule.parse().is_ok_and(|rule: TriggerRule| rule.actions.snapshot);
    config.triggers.iter().any(|trigger| trigger.action == TriggerAction::Snapshot)
        || config.rules.iter().any(is_snapshot)
}

fn check_rule(rule: &TriggerRule, peer: PeerCredentials) -> Result<(), String> {
    let condition = &rule.condition;
    if rule.actions.exit.is_some() || rule.actions.status.is_some() {
        return Err(format!(
            "the trigger '{condition}' sets an exit status, which a session of the daemon has \
             not\nhint: use 'stop', or trace record"
        ));
    }
    if matches!(condition, Condition::Signal(_) | Condition::Death) {
        return Err(format!("the trigger '{condition}' requires trace record"));
    }
    // The daemon itself starts the sessions of its configuration.
    if rule.actions.run.is_some() && peer.pid != process::id() {
        return Err(format!(
            "the trigger '{condition}' runs a command, which the daemon does only for sessions of \
             its own configuration\nhint: use trace record"
        ));
    }
    Ok(())
}

/// The commands of a session in the configuration. They run one after another on a thread of their
/// own, for which neither the session nor the daemon waits.
#[derive(Debug)]
pub(super) struct Commands {
    rules: Vec<TriggerRule>,
    /// Commands to run; `None` if there are none, or their thread cannot be started.
    jobs: Option<Sender<Job>>,
}

/// A command to run with the path of an archive.
type Job = (TriggerRule, PathBuf);

/// The most commands of a session that wait for the one that runs.
const MAX_JOBS: usize = 100;

impl Commands {
    /// Returns the commands of a session, whose triggers are checked.
    pub(super) fn of(config: &TraceConfig) -> Self {
        let rules = config.rules.iter().filter_map(|rule| rule.parse().ok());
        let rules: Vec<_> = rules.filter(|rule: &TriggerRule| rule.actions.run.is_some()).collect();
        let jobs = if rules.is_empty() { None } else { start_thread() };
        Self { rules, jobs }
    }

    /// Runs the commands of the triggers that took a snapshot.
    pub(super) fn on_snapshot(&self, causes: &[Cause], snapshot: &Path) {
        let of_snapshot =
            |rule: &&TriggerRule| rule.actions.snapshot && causes.contains(&rule.cause());
        self.rules.iter().filter(of_snapshot).for_each(|rule| self.run(rule, snapshot));
    }

    /// Runs the commands of the trigger that stopped the session, whose archive is complete.
    pub(super) fn on_end(&self, cause: Option<&Cause>, archive: &Path) {
        let of_end = |rule: &&TriggerRule| {
            rule.ends_session() && cause.is_some_and(|cause| *cause == rule.cause())
        };
        self.rules.iter().filter(of_end).for_each(|rule| self.run(rule, archive));
    }

    fn run(&self, rule: &TriggerRule, archive: &Path) {
        let job = (rule.clone(), archive.to_owned());
        let is_sent = self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok());
        if !is_sent {
            log::warn!("the command of the trigger '{}' does not run: too many", rule.condition);
        }
    }
}

/// Starts the thread of the commands, which ends with the last one.
fn start_thread() -> Option<Sender<Job>> {
    let (jobs, receiver) = crossbeam_channel::bounded::<Job>(MAX_JOBS);
    let work = move || receiver.into_iter().for_each(|(rule, archive)| run(&rule, &archive));
    let thread = thread::Builder::new().name("trace-run".to_owned()).spawn(work);
    thread.ok().map(|_| jobs)
}

/// Runs the command on this thread. A failure is logged.
fn run(rule: &TriggerRule, archive: &Path) {
    match rule.run(archive) {
        Ok(status) if status.success() => {}
        Ok(status) => {
            log::warn!("the command of the trigger '{}' failed: {status}", rule.condition)
        }
        Err(error) => {
            log::warn!("the command of the trigger '{}' did not run: {error}", rule.condition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: PeerCredentials = PeerCredentials { pid: 1, uid: 7, gid: 7 };

    fn check(rule: &str, peer: PeerCredentials, output: Output) -> Result<(), String> {
        let rules = vec![rule.to_owned()];
        check_rules(&TraceConfig { rules, output, ..TraceConfig::default() }, peer)
    }

    #[test]
    fn only_the_daemon_itself_selects_commands() {
        let own = PeerCredentials { pid: process::id(), ..OTHER };
        let directory = || Output::Beneath("a".to_owned());
        assert_eq!(check("drop:run:true", own, directory()), Ok(()));
        let refused = check("drop:run:true", OTHER, directory()).unwrap_err();
        assert!(refused.contains("only for sessions of its own configuration"), "{refused}");
    }

    #[test]
    fn rules_that_a_daemon_cannot_follow_are_refused() {
        for (rule, why) in [
            ("drop:exit", "sets an exit status"),
            ("drop:stop:status=3", "sets an exit status"),
            ("signal:USR1:stop", "requires trace record"),
            ("death:stop", "requires trace record"),
            ("drop", "require a directory"),
            ("drip", "is not CONDITION:ACTION"),
        ] {
            let refused = check(rule, OTHER, Output::Descriptor).unwrap_err();
            assert!(refused.contains(why), "{rule}: {refused}");
        }
        assert_eq!(check("drop:stop", OTHER, Output::Descriptor), Ok(()));
    }
}
