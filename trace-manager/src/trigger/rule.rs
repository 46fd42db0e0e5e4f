//! Triggers and their text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::text::{no_action, text_of, time};
use super::{Cause, Condition};

/// A trigger: a condition, the actions that follow, and limits of its own.
///
/// Its text is `CONDITION[:ACTION…]`, as in `duration:web/request>50ms:snapshot:keep=5`. Without
/// an action, it takes a snapshot. `run:COMMAND` is the last action: the rest of the text is the
/// command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerRule {
    /// The condition.
    pub condition: Condition,
    /// The actions.
    pub actions: TriggerActions,
    /// The number of snapshots of this trigger that are kept; `None` for the limit of the session.
    pub keep: Option<u32>,
    /// The time between the starts of two snapshots of this trigger; `None` for that of the
    /// session.
    pub min_interval: Option<Duration>,
}

/// The actions of a trigger. The manager takes snapshots and stops the session; the caller performs
/// the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TriggerActions {
    /// Takes a snapshot.
    pub snapshot: bool,
    /// Stops the session.
    pub stop: bool,
    /// Stops the session and the recorded command. The caller exits with this status.
    pub exit: Option<u8>,
    /// The caller exits with this status at the end, if the recorded command succeeds.
    pub status: Option<u8>,
    /// A command of the shell. Its parameter `$1` is the path of the snapshot, of the archive if
    /// the trigger stops the session, or of the part for [`Condition::Part`].
    pub run: Option<String>,
}

/// The text before the command.
const RUN: &str = ":run:";

/// One action or limit of a trigger's text.
enum Part {
    Snapshot,
    Stop,
    Exit(u8),
    Status(u8),
    Keep(u32),
    MinInterval(Duration),
}

impl TriggerRule {
    /// Returns whether the session ends when the condition holds.
    pub fn ends_session(&self) -> bool {
        self.actions.stop || self.actions.exit.is_some()
    }

    /// Returns the cause by which notices and summaries report the condition.
    pub fn cause(&self) -> Cause {
        Cause::from(&self.condition)
    }

    fn add(&mut self, part: Part) {
        match part {
            Part::Snapshot => self.actions.snapshot = true,
            Part::Stop => self.actions.stop = true,
            Part::Exit(status) => self.actions.exit = Some(status),
            Part::Status(status) => self.actions.status = Some(status),
            Part::Keep(number) => self.keep = Some(number),
            Part::MinInterval(time) => self.min_interval = Some(time),
        }
    }

    /// Adds the snapshot that the other actions imply. Fails if parts contradict each other.
    fn complete(mut self) -> Result<Self, String> {
        let TriggerActions { snapshot, exit, status, run, .. } = &self.actions;
        if self.condition == Condition::Part {
            return self.check_part();
        }
        if exit.is_some() && status.is_some() {
            return Err(format!("'{self}' has two exit statuses: use 'exit' or 'status'"));
        }
        let has_none = !snapshot && status.is_none() && !self.ends_session();
        let runs_on_snapshot = run.is_some() && !self.ends_session();
        self.actions.snapshot |= has_none || runs_on_snapshot;
        if !self.actions.snapshot && (self.keep.is_some() || self.min_interval.is_some()) {
            return Err(format!("'{self}' limits snapshots, but takes none: add 'snapshot'"));
        }
        Ok(self)
    }

    /// Fails if a trigger of parts has another action than a command.
    fn check_part(self) -> Result<Self, String> {
        let TriggerActions { snapshot, stop, exit, status, run } = &self.actions;
        let has_others = *snapshot || *stop || exit.is_some() || status.is_some();
        let has_limits = self.keep.is_some() || self.min_interval.is_some();
        match run {
            Some(_) if !has_others && !has_limits => Ok(self),
            _ => {
                Err("the trigger 'part' has a command, and nothing else: use 'part:run:COMMAND', \
                      or 'alert:part' for an alert of this name"
                    .to_owned())
            }
        }
    }
}

impl FromStr for TriggerRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (head, command) = match text.split_once(RUN) {
            Some((_, command)) if command.trim().is_empty() => {
                return Err(format!("'{text}' has no command after 'run:'"));
            }
            Some((head, command)) => (head, Some(command.to_owned())),
            None => (text, None),
        };
        let (head, parts) = split_parts(head)?;
        if command.is_some() && !Condition::has_keyword(head) {
            return Err(format!(
                "the alert of a trigger with 'run:' requires 'alert:' before its name: use \
                 'alert:{text}', in which the command is '{}'",
                command.unwrap_or_default()
            ));
        }
        if parts.is_empty() && command.is_none() && !Condition::has_keyword(head) {
            return Err(not_a_trigger(text));
        }
        let condition = head.parse()?;
        let actions = TriggerActions { run: command, ..TriggerActions::default() };
        let mut rule = Self { condition, actions, keep: None, min_interval: None };
        parts.into_iter().for_each(|part| rule.add(part));
        rule.complete()
    }
}

/// Splits the text of a trigger without its command into the condition's and the parts.
fn split_parts(text: &str) -> Result<(&str, Vec<Part>), String> {
    let (mut head, mut words, mut parts) = (text, Vec::new(), Vec::new());
    while let Some((rest, last)) = head.rsplit_once(':') {
        let Some(part) = part(last) else { break };
        let word = last.split_once('=').map_or(last, |(word, _)| word);
        if words.contains(&word) {
            return Err(format!("'{text}' has '{word}' twice"));
        }
        words.push(word);
        parts.push(part?);
        head = rest;
    }
    Ok((head, parts))
}

fn not_a_trigger(text: &str) -> String {
    match text.rsplit_once(':') {
        Some((_, action)) => no_action(action),
        None => format!(
            "'{text}' is not CONDITION:ACTION, such as slow:snapshot for trace_alert!(\"slow\"), \
             or duration:web/request>50ms:snapshot"
        ),
    }
}

/// Parses an action or a limit. Returns `None` if the text is none.
fn part(text: &str) -> Option<Result<Part, String>> {
    match text.split_once('=') {
        None => match text {
            "snapshot" => Some(Ok(Part::Snapshot)),
            "stop" => Some(Ok(Part::Stop)),
            "exit" => Some(Ok(Part::Exit(0))),
            _ => None,
        },
        Some(("exit", value)) => Some(status(value).map(Part::Exit)),
        Some(("status", value)) => Some(status(value).map(Part::Status)),
        Some(("min-interval", value)) => Some(time(value).map(Part::MinInterval)),
        Some(("keep", value)) => {
            let number = value.parse().ok().filter(|number| *number > 0).map(Part::Keep);
            Some(number.ok_or_else(|| format!("'{value}' is not a number of snapshots")))
        }
        Some(_) => None,
    }
}

fn status(value: &str) -> Result<u8, String> {
    value.parse().map_err(|_| format!("'{value}' is not an exit status from 0 to 255"))
}

impl fmt::Display for TriggerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { condition, actions, keep, min_interval } = self;
        write!(f, "{condition}")?;
        for (action, is_set) in [(":snapshot", actions.snapshot), (":stop", actions.stop)] {
            f.write_str(if is_set { action } else { "" })?;
        }
        for (action, status) in [("exit", actions.exit), ("status", actions.status)] {
            if let Some(status) = status {
                write!(f, ":{action}={status}")?;
            }
        }
        if let Some(keep) = keep {
            write!(f, ":keep={keep}")?;
        }
        if let Some(time) = min_interval {
            write!(f, ":min-interval={}", text_of(*time))?;
        }
        match &actions.run {
            Some(command) => write!(f, "{RUN}{command}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rule(text: &str) -> TriggerRule {
        let rule: TriggerRule = text.parse().unwrap();
        assert_eq!(rule.to_string().parse(), Ok(rule.clone()), "{text}");
        rule
    }

    #[test]
    fn names_of_alerts_need_no_keyword() {
        for (text, name) in [
            ("slow:stop", "slow"),
            ("low memory:exit", "low memory"),
            ("db:slow:snapshot", "db:slow"),
            ("fourteen bytes:stop", "fourteen bytes"),
            ("log:stop", "log"),
            ("alert:drop:stop", "drop"),
        ] {
            assert_eq!(rule(text).condition, Condition::Alert(name.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_trigger_has_any_actions() {
        let actions = |text| rule(text).actions;
        let none = TriggerActions::default();
        let snapshot = TriggerActions { snapshot: true, ..none.clone() };
        assert_eq!(actions("drop"), snapshot);
        assert_eq!(actions("slow:snapshot"), snapshot);
        assert_eq!(actions("slow:stop"), TriggerActions { stop: true, ..none.clone() });
        assert_eq!(actions("slow:snapshot:stop"), TriggerActions { stop: true, ..snapshot });
        assert_eq!(actions("slow:exit"), TriggerActions { exit: Some(0), ..none.clone() });
        assert_eq!(actions("drop:exit=3"), TriggerActions { exit: Some(3), ..none.clone() });
        assert_eq!(actions("drop:status=4"), TriggerActions { status: Some(4), ..none });
    }

    #[test]
    fn a_command_is_the_rest_of_the_text() {
        let part = rule("part:run:true").actions;
        assert!(!part.snapshot && part.run.is_some());
        let run = rule("at:03:30:run:sh -c 'echo a:b:stop'");
        assert_eq!(run.condition.to_string(), "at:03:30");
        assert_eq!(run.actions.run.as_deref(), Some("sh -c 'echo a:b:stop'"));
        assert!(run.actions.snapshot, "it needs an archive");
        assert!(!rule("drop:stop:run:gzip").actions.snapshot);
    }

    #[test]
    fn limits_belong_to_one_trigger() {
        let limited = rule("duration:web/request>50ms:keep=5:min-interval=10s");
        let ten = Duration::from_secs(10);
        assert_eq!((limited.keep, limited.min_interval), (Some(5), Some(ten)));
        assert!(limited.actions.snapshot);
        assert_eq!(rule("drop:keep=5:run:gzip").keep, Some(5), "a command has a snapshot");
        assert_eq!(rule("drop:snapshot:stop:keep=5").keep, Some(5));
    }

    #[test]
    fn mistakes_are_named() {
        for (wrong, why) in [
            ("slow", "is not CONDITION:ACTION"),
            ("slow:", "is not an action"),
            ("slow:restart", "'restart' is not an action"),
            (":stop", "1 to 14 bytes"),
            ("fifteen bytes!!:stop", "it has 15"),
            ("a\0:stop", "1 to 14 bytes"),
            ("drop:restart", "'restart' is not an action"),
            ("drop:keep=0", "'0' is not a number of snapshots"),
            ("drop:exit=256", "'256' is not an exit status"),
            ("drop:min-interval=soon", "'soon' is not a time"),
            ("drop:run: ", "has no command"),
            ("part", "use 'part:run:COMMAND'"),
            ("part:stop", "use 'part:run:COMMAND'"),
            ("part:keep=3:run:true", "use 'part:run:COMMAND'"),
            ("job:run:done:snapshot", "requires 'alert:' before its name"),
            ("job:snapshot:run:true", "use 'alert:job:snapshot:run:true'"),
            ("log:slow:snapshot", "'slow' is not a log level"),
            ("drop:stop:keep=3", "limits snapshots, but takes none"),
            ("drop:status=3:min-interval=1s", "limits snapshots, but takes none"),
            ("drop:exit:keep=3:run:true", "limits snapshots, but takes none"),
            ("drop:exit=3:status=4", "has two exit statuses"),
            ("log:error:keep=5:keep=6", "has 'keep' twice"),
            ("drop:exit:stop:exit=3", "has 'exit' twice"),
        ] {
            let error = wrong.parse::<TriggerRule>().unwrap_err();
            assert!(error.contains(why), "{wrong:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn accepted_texts_round_trip(
            condition in "(slow|alert:[a-z:]{1,9}|duration:[a-z]/[a-z:]{1,5}>1s|log:warn|drop|at:1:02)",
            actions in "(:snapshot|:stop|:exit|:exit=7|:status=9|:keep=3|:min-interval=2ms){0,4}",
            command in "(|:run:[ -~]{1,12})",
        ) {
            if let Ok(rule) = format!("{condition}{actions}{command}").parse::<TriggerRule>() {
                prop_assert_eq!(rule.to_string().parse(), Ok(rule));
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<TriggerRule>();
        }
    }
}
