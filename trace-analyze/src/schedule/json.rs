//! The states of threads as JSON.

use serde_json::{json, Map, Value};

use super::moment::{Moment, State, ThreadAt};
use super::threads::{Preemption, Scheduling, ThreadTimes};
use crate::distribution::{Distribution, PERCENTILES};
use crate::exact;
use crate::group::Group;
use crate::scheduling::Waker;

impl Scheduling {
    /// Returns the report as a JSON object, for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "threads": self.threads.iter().map(thread).collect::<Vec<_>>(),
            "preemptions": self.preemptions.iter().map(preemption).collect::<Vec<_>>(),
            "wakeup_latency": latency(&self.latency),
            "missing_switches": self.missing,
            "partial_threads": self.partial.len(),
            "complete": self.damage.is_none() && !self.is_too_long && self.missing == 0,
        })
    }
}

impl Moment {
    /// Returns the threads as a JSON array, for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.threads.iter().map(thread_at).collect()
    }
}

fn thread_at(thread: &ThreadAt) -> Value {
    let (state, reason, cpu, by) = match &thread.state {
        State::Running(cpu) => ("running", None, Some(*cpu), None),
        State::Woken(by) => ("runnable", Some("woken"), None, by.as_ref().and_then(by_thread)),
        State::Preempted(by) => ("runnable", Some("preempted"), None, by.as_ref()),
        State::Blocked => ("blocked", None, None, None),
    };
    let next = thread.next.as_ref().map(|next| {
        let mut object = Map::from_iter([("time_ns".to_owned(), next.nanos.into())]);
        let by = next.by.as_ref().and_then(by_thread);
        object.insert("by".to_owned(), by.map(group).into());
        object.extend(next.by.as_ref().map(interrupt).unwrap_or_default());
        object
    });
    let mut object = group(&thread.group);
    if let State::Woken(Some(by)) = &thread.state {
        object.extend(interrupt(by));
    }
    object.extend([
        ("state".to_owned(), state.into()),
        ("reason".to_owned(), reason.into()),
        ("cpu".to_owned(), cpu.into()),
        ("by".to_owned(), by.map(group).into()),
        ("since_ns".to_owned(), thread.since.into()),
        ("until_ns".to_owned(), thread.until.into()),
        ("next_wakeup".to_owned(), next.into()),
    ]);
    object.into()
}

fn by_thread(waker: &Waker<Group>) -> Option<&Group> {
    match waker {
        Waker::Thread(thread) => Some(thread),
        Waker::Interrupt { .. } => None,
    }
}

fn interrupt(waker: &Waker<Group>) -> Map<String, Value> {
    waker.interrupt_to_json(|thread| group(thread).into())
}

fn thread(times: &ThreadTimes) -> Value {
    let mut object = group(&times.group);
    let numbers = [
        ("run_ns", times.running),
        ("runnable_ns", times.runnable),
        ("blocked_ns", times.blocked),
        ("turns", times.turns),
        ("preempted", times.preempted),
        ("missing_switches", times.missing),
    ];
    object.extend(numbers.map(|(name, value)| (name.to_owned(), value.into())));
    object.insert("wakeup_latency".to_owned(), latency(&times.latency));
    object.into()
}

fn preemption(pair: &Preemption) -> Value {
    json!({
        "thread": group(&pair.thread),
        "by": pair.by.as_ref().map(group),
        "count": pair.count,
        "waited_ns": pair.nanos,
    })
}

fn group(group: &Group) -> Map<String, Value> {
    let numbers = [("process", group.koids.process), ("thread", group.koids.thread)];
    let names = [("process_name", &group.process_name), ("thread_name", &group.thread_name)];
    let numbers = numbers.map(|(key, koid)| (key.to_owned(), exact(koid)));
    let names = names.map(|(key, name)| (key.to_owned(), name.as_str().into()));
    numbers.into_iter().chain(names).collect()
}

/// Returns the percentiles, or null for each if there are no lengths.
fn latency(lengths: &Distribution) -> Value {
    let mut object = Map::new();
    object.insert("count".to_owned(), lengths.count().into());
    let of_some = |nanos: u64| (lengths.count() > 0).then_some(nanos);
    for (name, quantile) in PERCENTILES {
        object.insert(format!("{name}_ns"), of_some(lengths.quantile(quantile)).into());
    }
    object.insert("max_ns".to_owned(), of_some(lengths.max()).into());
    object.into()
}
