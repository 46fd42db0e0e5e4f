//! The states of threads during single durations.

use anyhow::Result;
use trace_analyze::critical::Wait;
use trace_analyze::slowest::{add_states, Instance, Slowest, States};

use crate::cli::StatsArgs;
use crate::damage;
use crate::input::SelectedThreads;
use crate::message::{say, HINT};
use crate::rows::{by_waker, ran_instead};
use crate::table::human_nanos;
use crate::unreadable::Failed;

/// The heads of the columns with sums of states.
pub(super) const NUMBERS: &[&str] = &["run", "runnable", "blocked"];

/// What the states mean without wake-ups.
const NO_WAKEUPS: &str =
    "no wake-ups are recorded: BLOCKED includes the wait for a CPU after a wake-up\n";

/// Adds their states to durations. Those of threads that are not selected have the names of wakers.
pub(super) fn add(
    args: &StatsArgs,
    input: &SelectedThreads<'_>,
    instances: &mut [Instance],
) -> Result<()> {
    let is_too_long = add_states(|| Ok::<_, Failed>(input.whole.open()?), instances);
    if is_too_long.or_else(|error| error.explained(&args.file))? {
        let hint = "cut out a part of the time with trace slice --from --to";
        say(&format!("too many scheduling records to show the states of threads{HINT}{hint}"));
    }
    Ok(())
}

/// Returns the sums of states.
pub(super) fn numbers(states: Option<&States>) -> [String; 3] {
    let sums = states.map(|states| [states.running, states.runnable, states.blocked]);
    sums.map_or_else(|| ["-"; 3].map(str::to_owned), |sums| sums.map(human_nanos))
}

/// Returns the longest time in which the thread did not run, with the reason.
pub(super) fn longest_wait(states: Option<&States>) -> String {
    let Some(States { longest_wait: Some((nanos, wait)), has_wakeups, .. }) = states else {
        return String::new();
    };
    let reason = match wait {
        Wait::Preempted { by, last } => {
            format!("preempted{}", ran_instead(by.as_ref(), last.as_ref()))
        }
        Wait::Processor { woken_by, last } => {
            let (by, last) = (by_waker(woken_by.as_ref()), ran_instead(None, last.as_ref()));
            format!("for a CPU, woken up{by}{last}")
        }
        _ if !has_wakeups => "blocked or waiting".to_owned(),
        _ => format!("blocked until woken up{}", by_waker(wait.waker())),
    };
    format!("{} {reason}", human_nanos(*nanos))
}

/// Returns a line about archives without wake-ups, if instances have states of one.
pub(super) fn legend(instances: &[Instance]) -> &'static str {
    let mut states = instances.iter().filter_map(|instance| instance.states.as_ref());
    match states.any(|states| !states.has_wakeups) {
        true => NO_WAKEUPS,
        false => "",
    }
}

/// Reports durations whose states are not all known, and how to learn what an operation waited for.
pub(super) fn warn(args: &StatsArgs, found: &Slowest) {
    let states = found.instances.iter().filter_map(|instance| instance.states.as_ref());
    let partial = states.filter(|states| states.unknown > 0).count() as u64;
    let text = "durations partly outside of their thread's scheduling records, RUN, RUNNABLE and \
                BLOCKED are those within";
    damage::warn_counts(&args.file, &[(text, partial)]);
    let operation = found.instances.iter().find_map(|instance| instance.operation);
    if let Some(id) = operation.filter(|_| found.context_switches > 0 && !args.json) {
        let command = format!("trace critical-path {} --id {id:#x}", args.file.display());
        say(&format!("async operations have no states of a thread{HINT}{command} shows the waits"));
    }
}
