//! The states of threads of `trace stats --at`

use anyhow::Result;
use trace_analyze::schedule::moment::{self, Moment, State, ThreadAt, Wakeup};

use super::sched::advice;
use super::{most, section};
use crate::cli::StatsArgs;
use crate::input::{self, Spill};
use crate::message::say;
use crate::rows::{by_waker, first_by_thread, thread_label as label};
use crate::table::Table;
use crate::times::Origin;
use crate::unreadable::explained;

/// What states and an empty column mean without wake-ups.
const NO_WAKEUPS: &str =
    "the archive has no wake-ups (`trace doctor` says what they require): NEXT \
                          WAKE-UP is empty, and a blocked thread may wait for a CPU\n";

/// Reads the states of the selected threads at a time, up to the limit. Returns how many are left
/// out.
pub(super) fn read(args: &StatsArgs, whole: &Spill<'_>, at: u64) -> Result<(Moment, u64)> {
    let mut states = explained(&args.file, moment::read(whole.open()?, at))?;
    if let Some(selected) = input::selected_threads(&args.file, whole, &args.selection)? {
        states.retain(|koids| selected.contains(&koids.thread));
    }
    let limit = most(args).unwrap_or(usize::MAX);
    let left_out = states.threads.len().saturating_sub(limit) as u64;
    states.threads.truncate(limit);
    Ok((states, left_out))
}

/// Returns the states as a table with a heading, or an empty text without threads.
pub(super) fn text(states: &Moment, origin: Origin) -> String {
    let wakeup = |wakeup: &Wakeup| origin.text(wakeup.nanos) + &by_waker(wakeup.by.as_ref());
    let mut table = Table::new(vec!["since", "until", "state", "next wake-up", "thread"], 2);
    for thread in &states.threads {
        table.push(vec![
            origin.text(thread.since),
            thread.until.map_or_else(String::new, |until| origin.text(until)),
            state(thread, states.has_wakeups),
            thread.next.as_ref().map_or_else(String::new, wakeup),
            label(&thread.group),
        ]);
    }
    let mut text = String::new();
    section(&mut text, "threads", &table);
    if !text.is_empty() && !states.has_wakeups {
        text.push_str(NO_WAKEUPS);
    }
    text
}

fn state(thread: &ThreadAt, has_wakeups: bool) -> String {
    match &thread.state {
        State::Running(cpu) => format!("running on CPU {cpu}"),
        State::Woken(by) => format!("runnable, woken{}", by_waker(by.as_ref())),
        State::Preempted(by) => format!("runnable, preempted{}", first_by_thread(by.as_ref())),
        State::Blocked if has_wakeups => "blocked".to_owned(),
        State::Blocked => "blocked or waiting".to_owned(),
    }
}

/// Reports states that are unknown.
pub(super) fn warn(args: &StatsArgs, states: &Moment) {
    let has_selected = !args.selection.thread.is_empty();
    if has_selected && !states.has_records {
        say(&format!(
            "the state of the thread is unknown without scheduling records{}",
            advice(&states.damage)
        ));
    } else if has_selected && states.threads.is_empty() {
        say("the scheduling records do not show the state of the thread at this time");
    }
    if states.is_too_long {
        say("too many scheduling records, the last ones are not read");
    }
}
