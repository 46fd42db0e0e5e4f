use trace_format::layout::InstantScope;
use trace_format::{
    Argument, Arguments, ContextSwitch, Event, EventKind, Metadata, Reader, Record, Thread,
    ThreadKoids, ThreadWakeup, Value,
};

use super::*;
use crate::testing::archive;
use crate::Damage;

const RUNNING: ThreadState = ThreadState::RUNNING;
const BLOCKED: ThreadState = ThreadState::BLOCKED;
const WOKEN: Activity = runnable(Reason::Woken, true);

const fn runnable(reason: Reason, is_complete: bool) -> Activity {
    Activity::Runnable { reason, is_complete }
}

/// Running on a CPU, by its number: CPUs are numbered in the order of their first records.
const fn running(cpu: u32) -> Activity {
    Activity::Running { cpu }
}

fn switch(
    ticks: u64,
    cpu: u16,
    (outgoing_thread, outgoing_state): (u64, ThreadState),
    incoming_thread: u64,
) -> Record<'static> {
    let arguments = Arguments::NONE;
    ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }.into()
}

fn wakeup(ticks: u64, thread: u64) -> Record<'static> {
    ThreadWakeup { ticks, cpu: 0, thread, arguments: Arguments::NONE }.into()
}

/// Returns the intervals of thread 7, whose number is 0, and its missing switches.
fn intervals(records: &[Record<'_>]) -> (Vec<(u64, u64, Activity)>, u64) {
    // Thread 7 gets the number 0, and 8 gets 1.
    let first = [wakeup(0, 7), wakeup(0, 8)];
    let bytes = archive(&[&first, records].concat());
    let mut steps = Steps::default();
    Damage::of_all(Reader::new(&*bytes), |item| steps.push(item)).unwrap();
    let mut list = Vec::new();
    let missing = replay(&mut steps, None, |it| {
        if it.thread == 0 {
            list.push((it.from, it.to, it.activity));
        }
    });
    (list, missing[0])
}

#[test]
fn states_between_records() {
    let records = [
        switch(10, 0, (0, RUNNING), 7),
        // Preempted by 8.
        switch(30, 0, (7, RUNNING), 8),
        switch(35, 0, (8, BLOCKED), 7),
        switch(40, 0, (7, BLOCKED), 0),
        wakeup(60, 7),
        // A second wake-up changes nothing.
        wakeup(62, 7),
        switch(65, 1, (0, RUNNING), 7),
        switch(70, 1, (7, ThreadState::DEAD), 0),
        switch(90, 1, (0, RUNNING), 8),
    ];
    let expected = vec![
        (0, 10, WOKEN),
        (10, 30, running(0)),
        (30, 35, runnable(Reason::Preempted(Some(1)), true)),
        (35, 40, running(0)),
        (40, 60, Activity::Blocked),
        (60, 65, WOKEN),
        (65, 70, running(1)),
    ];
    assert_eq!(intervals(&records), (expected, 0));
}

/// After a pause, the helper is another provider, and the states of threads are unknown.
#[test]
fn states_while_the_recording_is_paused_are_unknown() {
    let arguments =
        [Argument::new("from", Value::Uint64(30)), Argument::new("to", Value::Uint64(100))];
    let interruption = Event {
        ticks: 30,
        thread: Thread::Inline(ThreadKoids::new(1, 1)),
        category: "trace".into(),
        name: "recording interrupted".into(),
        kind: EventKind::Instant { scope: Some(InstantScope::Process) },
        arguments: (&arguments).into(),
    };
    let pause = |interrupted: u32| {
        let provider = |id| Record::from(Metadata::ProviderInfo { id, name: b"kernel" });
        intervals(&[
            switch(10, 0, (0, RUNNING), 7),
            switch(12, 1, (0, RUNNING), 8),
            switch(20, 1, (8, BLOCKED), 0),
            provider(interrupted),
            interruption.into(),
            provider(2),
            // The CPU has run the thread since the resume, or since a later time.
            switch(110, 1, (7, RUNNING), 8),
            switch(120, 1, (8, BLOCKED), 7),
        ])
    };
    let preempted = runnable(Reason::Preempted(Some(1)), true);
    let paused = vec![
        (0, 10, WOKEN),
        (10, 30, running(0)),
        (100, 110, running(2)),
        (110, 120, preempted),
        (120, 120, running(2)),
    ];
    assert_eq!(pause(2), (paused, 0));
    assert_ne!(pause(3).0[1], (10, 30, running(0)), "it is the gap of another program");
}

/// The records of CPU 1 come first in the archive.
#[test]
fn records_of_two_cpus_in_any_order() {
    let records = [
        switch(30, 1, (0, RUNNING), 7),
        switch(50, 1, (7, BLOCKED), 0),
        switch(10, 0, (0, RUNNING), 7),
        switch(20, 0, (7, BLOCKED), 0),
        wakeup(25, 7),
    ];
    let expected = vec![
        (0, 10, WOKEN),
        (10, 20, running(1)),
        (20, 25, Activity::Blocked),
        (25, 30, WOKEN),
        (30, 50, running(0)),
        (50, 50, Activity::Blocked),
    ];
    assert_eq!(intervals(&records), (expected, 0));
}

#[test]
fn wake_ups_before_the_thread_has_left_its_cpu() {
    let records = [
        switch(10, 0, (0, RUNNING), 7),
        wakeup(19, 7),
        switch(20, 0, (7, BLOCKED), 8),
        switch(25, 0, (8, BLOCKED), 7),
        // This wake-up stops the thread from blocking, so a later one ends the next wait.
        wakeup(30, 7),
        switch(40, 0, (7, BLOCKED), 0),
        wakeup(45, 7),
        switch(46, 0, (0, RUNNING), 7),
    ];
    let (list, missing) = intervals(&records);
    assert_eq!(list[2], (20, 25, WOKEN));
    assert_eq!(list[4..6], [(40, 45, Activity::Blocked), (45, 46, WOKEN)]);
    assert_eq!(missing, 0);
}

#[test]
fn states_at_the_end() {
    let waits = [switch(10, 0, (0, RUNNING), 7), switch(20, 0, (7, RUNNING), 8)];
    let waits = [&waits[..], &[switch(50, 1, (0, RUNNING), 9)]].concat();
    let unfinished = runnable(Reason::Preempted(Some(1)), false);
    assert_eq!(intervals(&waits).0[2], (20, 50, unfinished));
    let runs = [switch(10, 0, (0, RUNNING), 7), switch(50, 1, (0, RUNNING), 9)];
    assert_eq!(intervals(&runs).0[1], (10, 50, running(0)));
}

/// No switch from the idle thread is recorded.
#[test]
fn turns_after_a_hidden_idle_thread() {
    let records = [
        switch(10, 0, (7, BLOCKED), 0),
        wakeup(30, 7),
        switch(40, 0, (7, BLOCKED), 0),
        // No record shows when this turn began.
        switch(60, 0, (7, BLOCKED), 0),
    ];
    let estimated = runnable(Reason::Woken, false);
    let expected = vec![
        (0, 0, estimated),
        (0, 10, running(0)),
        (10, 30, Activity::Blocked),
        (30, 30, estimated),
        (30, 40, running(0)),
        (60, 60, Activity::Blocked),
    ];
    assert_eq!(intervals(&records), (expected, 3));
}

/// No switch from thread 8 is recorded.
#[test]
fn turns_after_a_hidden_thread() {
    let records = [
        switch(10, 0, (0, RUNNING), 8),
        wakeup(30, 7),
        switch(40, 0, (7, BLOCKED), 0),
        switch(45, 0, (0, RUNNING), 8),
    ];
    let (list, missing) = intervals(&records);
    assert_eq!(list[1], (10, 40, running(0)), "runnable since 0");
    assert_eq!(missing, 1);
}

/// The switch from CPU 0 is missing, and found when the thread runs on CPU 1.
#[test]
fn turns_without_an_end() {
    let records = [
        switch(10, 0, (0, RUNNING), 7),
        switch(30, 1, (0, RUNNING), 7),
        switch(35, 0, (9, BLOCKED), 0),
        switch(40, 1, (7, BLOCKED), 0),
    ];
    let (list, missing) = intervals(&records);
    assert_eq!(list[1..3], [(30, 40, running(1)), (40, 40, Activity::Blocked)]);
    assert_eq!(missing, 1);
}

/// The only switch of CPU 1 is from a thread that ended on CPU 0.
#[test]
fn turns_of_a_thread_do_not_overlap() {
    let records = [
        switch(10, 0, (0, RUNNING), 7),
        switch(20, 0, (7, ThreadState::DEAD), 0),
        switch(50, 1, (7, BLOCKED), 0),
    ];
    let (list, _) = intervals(&records);
    let ends = list.iter().map(|(_, to, _)| *to);
    assert!(list.iter().skip(1).zip(ends).all(|((from, ..), end)| *from >= end), "{list:?}");
}
