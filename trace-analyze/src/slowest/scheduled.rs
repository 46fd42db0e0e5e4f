//! The states of threads during the longest durations.

use std::io::Read;

use trace_format::{ReadError, Reader};

use super::instance::Instance;
use super::states::States;
use crate::schedule::history::History;

/// Adds the states of their threads to durations, where the archive has scheduling records. Returns
/// whether it has too many of them: all states are unknown then. Calls `open` once, or not at all
/// without durations.
///
/// # Errors
///
/// The input is not an archive, or reading it failed, or `open` failed.
pub fn add_states<R: Read, E: From<ReadError>>(
    open: impl FnOnce() -> Result<Reader<R>, E>,
    instances: &mut [Instance],
) -> Result<bool, E> {
    let threads = instances.iter().filter(|it| time(it).is_some()).map(|it| it.thread.thread);
    let times = instances.iter().filter_map(time);
    let (from, to) = times.fold((u64::MAX, 0), |all, time| (all.0.min(time.0), all.1.max(time.1)));
    if from >= to {
        return Ok(false);
    }
    let history = History::read(threads, (from, to), open()?)?;
    for instance in instances {
        let thread = instance.thread.thread;
        instance.states = time(instance).and_then(|time| States::of(&history, thread, time));
    }
    Ok(history.is_too_long)
}

/// Returns the begin and the end of a duration, or `None` for an operation, which has no thread of
/// its own, and without an end.
fn time(instance: &Instance) -> Option<(u64, u64)> {
    let end = instance.begin_nanos.checked_add(instance.nanos?)?;
    instance.operation.is_none().then_some((instance.begin_nanos, end))
}

#[cfg(test)]
mod tests {
    use trace_format::layout::ThreadState;
    use trace_format::{
        Argument, Arguments, ContextSwitch, Event, EventKind, Record, Thread, ThreadKoids,
        ThreadWakeup, Value,
    };

    use super::super::slowest;
    use super::*;
    use crate::stats::Grouping;
    use crate::testing::archive;

    const THREAD: u64 = 7;

    fn switch(
        ticks: u64,
        cpu: u16,
        outgoing: (u64, ThreadState),
        incoming: u64,
    ) -> Record<'static> {
        let (outgoing_thread, outgoing_state) = outgoing;
        let (incoming_thread, arguments) = (incoming, Arguments::NONE);
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }
            .into()
    }

    fn duration(ticks: u64, end: u64) -> Record<'static> {
        let thread = Thread::Inline(ThreadKoids::new(1, THREAD));
        let kind = EventKind::DurationComplete { end };
        let arguments = Arguments::NONE;
        Event { ticks, thread, category: "cat".into(), name: "job".into(), kind, arguments }.into()
    }

    /// Returns the durations with their states, the longest one first.
    fn instances(records: &[Record<'_>]) -> Vec<Instance> {
        let archive = archive(records);
        let open = || Ok::<_, ReadError>(Reader::new(&*archive));
        let grouping = Grouping::Together.into();
        let mut found = slowest(open, grouping, 10, None, None, |_, _| true).unwrap();
        add_states(open, &mut found.instances).unwrap();
        found.instances
    }

    #[test]
    fn states_are_those_within_the_duration() {
        let waker = [Argument::new("waker", Value::Koid(9))];
        let wakeup =
            ThreadWakeup { ticks: 150, cpu: 0, thread: THREAD, arguments: waker.as_slice().into() };
        let records = [
            switch(50, 0, (8, ThreadState::BLOCKED), THREAD),
            switch(120, 0, (THREAD, ThreadState::BLOCKED), 0),
            wakeup.into(),
            switch(160, 0, (0, ThreadState::RUNNING), THREAD),
            switch(180, 0, (THREAD, ThreadState::RUNNING), 8),
            switch(300, 0, (8, ThreadState::BLOCKED), THREAD),
            duration(100, 200),
            duration(155, 156),
        ];
        let found = instances(&records);
        let states = found[0].states.clone().unwrap();
        assert_eq!((states.running, states.runnable, states.blocked), (40, 30, 30));
        let (nanos, wait) = states.longest_wait.unwrap();
        assert_eq!((nanos, wait.as_str()), (30, "blocked"));
        assert_eq!(wait.by().unwrap().koids.thread, 9);
        assert_eq!(found[0].to_json()["states"]["longest_wait"]["by"]["thread"], 9);
        let short = found[1].states.clone().unwrap();
        assert_eq!((short.running, short.runnable, short.blocked), (0, 1, 0));
    }

    #[test]
    fn times_outside_of_the_records_are_unknown() {
        let records = [
            switch(100, 0, (8, ThreadState::BLOCKED), THREAD),
            switch(150, 0, (THREAD, ThreadState::BLOCKED), 8),
            switch(200, 0, (8, ThreadState::BLOCKED), 0),
            duration(40, 240),
            duration(210, 230),
            duration(160, 160),
        ];
        let found = instances(&records);
        let states = found[0].states.clone().unwrap();
        let known = (states.running, states.runnable, states.blocked, states.unknown);
        assert_eq!(known, (50, 0, 50, 100));
        assert!(!states.has_wakeups);
        assert_eq!(found[1].states, None, "after the records");
        assert_eq!(found[2].states, None, "without a length");
    }

    #[test]
    fn operations_and_threads_without_records_have_no_states() {
        let thread = Thread::Inline(ThreadKoids::new(1, THREAD));
        let edge = |ticks, kind| {
            let arguments = Arguments::NONE;
            Event { ticks, thread, category: "cat".into(), name: "op".into(), kind, arguments }
        };
        let records = [
            switch(50, 0, (8, ThreadState::BLOCKED), 9),
            edge(60, EventKind::AsyncBegin { id: 1 }).into(),
            duration(100, 110),
            edge(190, EventKind::AsyncEnd { id: 1 }).into(),
            switch(200, 0, (9, ThreadState::BLOCKED), 8),
        ];
        let found = instances(&records);
        assert_eq!(found.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["op", "job"]);
        assert!(found.iter().all(|instance| instance.states.is_none()), "{found:?}");
    }

    #[test]
    fn an_archive_without_scheduling_has_no_states() {
        let found = instances(&[duration(100, 200)]);
        assert_eq!(found[0].states, None);
        assert!(found[0].to_json()["states"].is_null());
    }
}
