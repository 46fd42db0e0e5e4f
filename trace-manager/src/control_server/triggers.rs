//! Triggers of the daemon's sessions.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use trace_protocol::control::{Output, TraceConfig, TriggerAction};

use crate::trigger::{CommandStopper, Condition, TriggerCommands, TriggerRule, TriggerUser};

/// Checks the triggers of a session. `is_own` is whether the daemon itself requests it.
pub(super) fn check_rules(config: &TraceConfig, is_own: bool) -> Result<(), String> {
    let rules: Result<Vec<TriggerRule>, String> =
        config.rules.iter().map(|rule| rule.parse()).collect();
    let rules = rules?;
    config.trigger_users.iter().try_for_each(|user| user.parse::<TriggerUser>().map(drop))?;
    if rules.iter().any(|rule| rule.actions.snapshot) && config.output == Output::Descriptor {
        return Err("snapshots of triggers require a directory as the output".to_owned());
    }
    if rules.iter().any(|rule| rule.condition == Condition::Part) && !config.rotation.is_cut() {
        return Err("the trigger 'part' requires an archive that is cut: use 'rotate'".to_owned());
    }
    rules.iter().try_for_each(|rule| check_rule(rule, config.detached, is_own))
}

/// Returns whether triggers of the session take snapshots.
pub(super) fn takes_snapshots(config: &TraceConfig) -> bool {
    config.triggers.iter().any(|trigger| trigger.action == TriggerAction::Snapshot)
        || rules(config).iter().any(|rule| rule.actions.snapshot)
}

fn check_rule(rule: &TriggerRule, is_detached: bool, is_own: bool) -> Result<(), String> {
    let condition = &rule.condition;
    // Of a session that ends with its connection, the status is that of the controller.
    if is_detached && (rule.actions.exit.is_some() || rule.actions.status.is_some()) {
        return Err(format!(
            "the trigger '{condition}' sets an exit status; sessions of a daemon have \
             none\nhint: use 'stop', or trace record"
        ));
    }
    if matches!(condition, Condition::Signal(_)) {
        return Err(format!("the trigger '{condition}' requires trace record without --attach"));
    }
    // The daemon itself starts the sessions of its configuration.
    if rule.actions.run.is_some() && !is_own {
        return Err(format!(
            "the trigger '{condition}' runs a command, which the daemon does only for sessions of \
             its own configuration\nhint: use trace record, which runs it as its user"
        ));
    }
    Ok(())
}

/// Returns the triggers of a session, which are checked.
pub(super) fn rules(config: &TraceConfig) -> Vec<TriggerRule> {
    config.rules.iter().filter_map(|rule| rule.parse().ok()).collect()
}

/// Returns the users whose programs meet conditions of a session, which are checked.
pub(super) fn trigger_users(config: &TraceConfig) -> Vec<TriggerUser> {
    config.trigger_users.iter().filter_map(|user| user.parse().ok()).collect()
}

/// The commands of all sessions, to end them with the daemon.
#[derive(Debug, Default)]
pub(super) struct AllCommands(Mutex<Vec<CommandStopper>>);

/// The time for which the daemon waits for the end of commands after a signal.
const PATIENCE: Duration = Duration::from_secs(2);

impl AllCommands {
    /// Starts the commands of a session. Messages about them are logged.
    pub(super) fn start(&self, config: &TraceConfig) -> io::Result<TriggerCommands> {
        let commands = TriggerCommands::start(&rules(config), |message| log::warn!("{message}"))?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|commands| !commands.wait(Duration::ZERO));
        all.push(commands.stopper());
        Ok(commands)
    }

    /// Ends the commands that run, first with SIGTERM, then with SIGKILL.
    pub(super) fn end(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let wait = || {
            let deadline = Instant::now() + PATIENCE;
            let rest = || deadline.saturating_duration_since(Instant::now());
            all.iter().all(|commands| commands.wait(rest()))
        };
        all.iter().for_each(CommandStopper::terminate);
        if !wait() {
            all.iter().for_each(CommandStopper::kill);
            wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: &str, is_own: bool, output: Output) -> Result<(), String> {
        let rules = vec![rule.to_owned()];
        let config = TraceConfig { rules, output, detached: true, ..TraceConfig::default() };
        check_rules(&config, is_own)
    }

    #[test]
    fn the_exit_status_is_that_of_the_controller_with_which_a_session_ends() {
        let rules = vec!["drop:status=3".to_owned(), "alert:slow:exit".to_owned()];
        let config =
            |detached| TraceConfig { rules: rules.clone(), detached, ..Default::default() };
        assert_eq!(check_rules(&config(false), false), Ok(()));
        assert!(check_rules(&config(true), false).is_err());
    }

    #[test]
    fn only_the_daemon_itself_selects_commands() {
        let directory = || Output::Beneath("a".to_owned());
        assert_eq!(check("drop:run:true", true, directory()), Ok(()));
        let refused = check("drop:run:true", false, directory()).unwrap_err();
        assert!(refused.contains("only for sessions of its own configuration"), "{refused}");
    }

    #[test]
    fn rules_that_a_daemon_cannot_follow_are_refused() {
        for (rule, why) in [
            ("drop:exit", "sets an exit status"),
            ("drop:stop:status=3", "sets an exit status"),
            ("signal:USR1:stop", "requires trace record"),
            ("drop", "require a directory"),
            ("drip", "is not CONDITION:ACTION"),
        ] {
            let refused = check(rule, false, Output::Descriptor).unwrap_err();
            assert!(refused.contains(why), "{rule}: {refused}");
        }
        for rule in ["drop:stop", "death:stop"] {
            assert_eq!(check(rule, false, Output::Descriptor), Ok(()));
        }
    }
}
