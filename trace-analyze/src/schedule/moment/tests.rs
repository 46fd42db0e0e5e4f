use trace_format::layout::ThreadState;
use trace_format::{Argument, ContextSwitch, Record, ThreadWakeup, Value};

use super::*;
use crate::scheduling::InterruptKind;
use crate::testing::archive;

const RUNNING: ThreadState = ThreadState::RUNNING;
const BLOCKED: ThreadState = ThreadState::BLOCKED;

fn switch(
    ticks: u64,
    cpu: u16,
    (outgoing_thread, outgoing_state): (u64, ThreadState),
    incoming_thread: u64,
) -> Record<'static> {
    let arguments = [][..].into();
    ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }.into()
}

/// Thread 7 runs on CPU 3, waits for 8, is woken up by it, and is preempted by it.
fn records(by: &[Argument<'static>]) -> Vec<u8> {
    let wakeup = |ticks, arguments| -> Record<'_> {
        ThreadWakeup { ticks, cpu: 0, thread: 7, arguments }.into()
    };
    archive(&[
        switch(10, 3, (0, RUNNING), 7),
        switch(20, 3, (7, BLOCKED), 0),
        switch(25, 0, (0, RUNNING), 8),
        wakeup(40, by.into()),
        switch(45, 3, (0, RUNNING), 7),
        switch(50, 3, (7, RUNNING), 8),
        switch(60, 3, (8, BLOCKED), 7),
        switch(70, 3, (7, BLOCKED), 0),
        wakeup(90, [][..].into()),
        switch(95, 3, (0, RUNNING), 7),
    ])
}

fn group(thread: u64) -> Group {
    Group { koids: ThreadKoids::new(0, thread), ..Group::default() }
}

/// A state, its begin and end, and the time and waker of the next wake-up.
type Known = (State, u64, Option<u64>, Option<(u64, Option<Waker<Group>>)>);

/// Returns the state of thread 7.
fn at(nanos: u64) -> Option<Known> {
    let archive = records(&[Argument::new("waker", Value::Koid(8))]);
    let mut moment = read(Reader::new(&*archive), nanos).unwrap();
    assert!(moment.has_records && !moment.is_too_long);
    moment.retain(|koids| koids.thread == 7);
    let thread = moment.threads.pop()?;
    assert_eq!(thread.group, group(7));
    Some((thread.state, thread.since, thread.until, thread.next.map(|next| (next.nanos, next.by))))
}

#[test]
fn a_thread_has_a_state_its_limits_and_the_next_wake_up() {
    let by_8 = Some((40, Some(Waker::Thread(group(8)))));
    let unknown = Some((90, None));
    assert_eq!(at(9), None, "before the first record");
    assert_eq!(at(10), Some((State::Running(3), 10, Some(20), by_8.clone())));
    assert_eq!(at(19), at(10));
    assert_eq!(at(20), Some((State::Blocked, 20, Some(40), by_8)));
    assert_eq!(
        at(40),
        Some((State::Woken(Some(Waker::Thread(group(8)))), 40, Some(45), unknown.clone()))
    );
    let preempted = State::Preempted(Some(group(8)));
    assert_eq!(at(55), Some((preempted, 50, Some(60), unknown.clone())));
    assert_eq!(at(80), Some((State::Blocked, 70, Some(90), unknown)));
    assert_eq!(at(92), Some((State::Woken(None), 90, Some(95), None)));
    assert_eq!(at(1000), Some((State::Running(3), 95, None, None)), "until the end");
}

/// An interrupt wakes up a thread, whatever its CPU runs.
#[test]
fn an_interrupt_is_not_the_thread_that_it_interrupts() {
    for (name, kind) in [("hard", InterruptKind::Hard), ("soft", InterruptKind::Soft)] {
        let archive = records(&[
            Argument::new("interrupt", Value::String(name.into())),
            Argument::new("interrupted", Value::Koid(8)),
        ]);
        let mut moment = read(Reader::new(&*archive), 40).unwrap();
        moment.retain(|koids| koids.thread == 7);
        let waker = Waker::Interrupt { kind, interrupted: Some(group(8)) };
        assert_eq!(moment.threads[0].state, State::Woken(Some(waker)));
    }
}

#[test]
fn an_archive_without_scheduling_records_has_no_states() {
    let moment = read(Reader::new(&*archive(&[])), 5).unwrap();
    assert!(moment.threads.is_empty() && !moment.has_records);
}
