//! The reasons of waits.

use trace_format::ThreadWakeup;

use super::*;
use crate::scheduling::{InterruptKind, Waker};
use crate::stats::Group;

const CPU: u16 = 0;

fn switch(
    ticks: u64,
    (outgoing_thread, outgoing_state): (u64, ThreadState),
    incoming_thread: u64,
) -> Record<'static> {
    let (cpu, arguments) = (CPU, Arguments::NONE);
    ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }.into()
}

fn path_of(records: &[Record<'_>]) -> Path {
    let archive = crate::testing::archive(records);
    let choice = Choice { flows: false, ..Choice::default() };
    let chosen = slowest(Reader::new(&*archive), &choice).unwrap().slowest.unwrap();
    path(&chosen, || Ok::<_, ReadError>(Reader::new(&*archive))).unwrap()
}

/// Returns the begin, the end and the reason of each part, `None` if it runs.
fn waits(path: &Path) -> Vec<(u64, u64, Option<Wait>)> {
    path.segments.iter().map(|part| (part.from, part.to, part.wait.clone())).collect()
}

fn thread(koid: u64) -> Option<Group> {
    Some(Group { koids: ThreadKoids::new(0, koid), ..Group::default() })
}

/// A request starts late, waits for a query, and for something that no record shows.
#[test]
fn reasons_without_scheduling_records() {
    let id = |key, value| [Argument::new(key, Value::Uint64(value))];
    let (one, of_one) = (id("task", 1), id("parent", 1));
    let path = path_of(&[
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 110, "request", DurationComplete { end: 120 }, &one),
        event(6, 120, "query", AsyncBegin { id: 2 }, &of_one),
        event(6, 140, "query", AsyncEnd { id: 2 }, &[]),
        event(5, 150, "request", DurationComplete { end: 160 }, &one),
        event(5, 190, "request", DurationComplete { end: 195 }, &one),
        event(5, 200, "request", AsyncEnd { id: 1 }, &[]),
    ]);
    assert_eq!(path.scheduling, Scheduling::None);
    let expected = vec![
        (100, 110, Some(Wait::Start)),
        (110, 120, None),
        (120, 140, Some(Wait::Unknown)),
        (140, 150, Some(Wait::Continue)),
        (150, 160, None),
        (160, 190, Some(Wait::Unknown)),
        (190, 195, None),
        (195, 200, Some(Wait::End)),
    ];
    assert_eq!(waits(&path), expected);
}

#[test]
fn a_message_waits_to_be_received() {
    let task = [Argument::new("task", Value::Uint64(1))];
    let path = path_of(&[
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 110 }, &task),
        event(6, 120, "serve", DurationComplete { end: 140 }, &[]),
        event(6, 130, "reply", FlowBegin { id: 7 }, &[]),
        event(5, 150, "request", DurationComplete { end: 160 }, &task),
        event(5, 151, "reply", FlowEnd { id: 7 }, &[]),
        event(5, 160, "request", AsyncEnd { id: 1 }, &[]),
    ]);
    let reason = |from| waits(&path).into_iter().find(|(begin, ..)| *begin == from).unwrap().2;
    assert_eq!((reason(130), reason(110)), (Some(Wait::Receipt), Some(Wait::Unknown)));
}

/// The thread of the request is woken up by 9, preempted by 8, and waits for a lock that 9 has,
/// then for a timer.
#[test]
fn reasons_that_scheduling_records_show() {
    let (running, blocked) = (ThreadState::RUNNING, ThreadState::BLOCKED);
    let task = [Argument::new("task", Value::Uint64(1))];
    let waker = [Argument::new("waker", Value::Koid(9))];
    let timer = [Argument::new("interrupt", Value::String("hard".into()))];
    let wakeup = |ticks, arguments| -> Record<'_> {
        ThreadWakeup { ticks, cpu: CPU, thread: 5, arguments }.into()
    };
    let path = path_of(&[
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 110 }, &task),
        event(5, 150, "request", DurationComplete { end: 200 }, &task),
        event(5, 200, "request", AsyncEnd { id: 1 }, &[]),
        switch(90, (0, running), 5),
        switch(115, (5, blocked), 9),
        wakeup(130, (&waker).into()),
        switch(140, (9, blocked), 5),
        switch(160, (5, running), 8),
        switch(165, (8, blocked), 5),
        switch(170, (5, blocked), 9),
        wakeup(180, (&waker).into()),
        switch(185, (9, blocked), 5),
        switch(190, (5, blocked), 0),
        wakeup(195, (&timer).into()),
        switch(196, (0, running), 5),
        switch(210, (5, blocked), 0),
    ]);
    assert_eq!(path.scheduling, Scheduling::Complete);
    let by_9 = || thread(9).map(Waker::Thread);
    let by_timer = || Some(Waker::Interrupt { kind: InterruptKind::Hard, interrupted: None });
    let request = ThreadKoids::new(1, 5);
    let expected = vec![
        (100, 110, None),
        (110, 130, Some(Wait::Wakeup { thread: request, woken_by: by_9() })),
        (130, 140, Some(Wait::Processor { woken_by: by_9(), last: thread(9) })),
        (140, 150, Some(Wait::OtherCode)),
        (150, 160, None),
        (160, 165, Some(Wait::Preempted { by: thread(8), last: thread(8) })),
        (165, 170, None),
        (170, 180, Some(Wait::Blocked { woken_by: by_9() })),
        (180, 185, Some(Wait::Processor { woken_by: by_9(), last: thread(9) })),
        (185, 190, None),
        (190, 195, Some(Wait::Blocked { woken_by: by_timer() })),
        (195, 196, Some(Wait::Processor { woken_by: by_timer(), last: None })),
        (196, 200, None),
    ];
    assert_eq!(waits(&path), expected);
}

/// The thread is woken up for another request, and runs it before the request's poll. Nothing shows
/// when the request could continue.
#[test]
fn a_thread_that_runs_other_code_does_not_show_a_reason() {
    let (running, blocked) = (ThreadState::RUNNING, ThreadState::BLOCKED);
    let id = |value| [Argument::new("task", Value::Uint64(value))];
    let waker = [Argument::new("waker", Value::Koid(9))];
    let path = path_of(&[
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 110 }, &id(1)),
        event(5, 132, "other", DurationComplete { end: 185 }, &id(2)),
        event(5, 190, "request", DurationComplete { end: 200 }, &id(1)),
        event(5, 200, "request", AsyncEnd { id: 1 }, &[]),
        switch(90, (0, running), 5),
        switch(110, (5, blocked), 0),
        ThreadWakeup { ticks: 120, cpu: CPU, thread: 5, arguments: (&waker).into() }.into(),
        switch(130, (0, running), 5),
        switch(150, (5, running), 8),
        switch(160, (8, blocked), 5),
        switch(210, (5, blocked), 0),
    ]);
    let request = ThreadKoids::new(1, 5);
    let expected = vec![
        (100, 110, None),
        (110, 120, Some(Wait::Wakeup { thread: request, woken_by: thread(9).map(Waker::Thread) })),
        (120, 130, Some(Wait::Processor { woken_by: thread(9).map(Waker::Thread), last: None })),
        (130, 150, Some(Wait::OtherCode)),
        (150, 160, Some(Wait::Preempted { by: thread(8), last: thread(8) })),
        (160, 190, Some(Wait::OtherCode)),
        (190, 200, None),
    ];
    assert_eq!(waits(&path), expected);
}

/// Without wake-ups, it is known that the thread was blocked, but not until when.
#[test]
fn switches_without_wakeups() {
    let (running, blocked) = (ThreadState::RUNNING, ThreadState::BLOCKED);
    let task = [Argument::new("task", Value::Uint64(1))];
    let path = path_of(&[
        event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
        event(5, 100, "request", DurationComplete { end: 200 }, &task),
        event(5, 200, "request", AsyncEnd { id: 1 }, &[]),
        switch(90, (0, running), 5),
        switch(120, (5, blocked), 0),
        switch(150, (0, running), 5),
    ]);
    assert_eq!(path.scheduling, Scheduling::Switches);
    let expected = vec![
        (100, 120, None),
        (120, 150, Some(Wait::Blocked { woken_by: None })),
        (150, 200, None),
    ];
    assert_eq!(waits(&path), expected);
}

/// Without wake-ups, a thread that was preempted before the poll could run.
#[test]
fn a_thread_that_could_run_waits_for_a_processor() {
    let (running, blocked) = (ThreadState::RUNNING, ThreadState::BLOCKED);
    let task = [Argument::new("task", Value::Uint64(1))];
    let waits_with = |states: &[Record<'_>]| {
        let polls = [
            event(5, 100, "request", AsyncBegin { id: 1 }, &[]),
            event(5, 100, "request", DurationComplete { end: 110 }, &task),
            event(5, 190, "request", DurationComplete { end: 200 }, &task),
            event(5, 200, "request", AsyncEnd { id: 1 }, &[]),
            switch(90, (0, running), 5),
        ];
        waits(&path_of(&polls.iter().chain(states).cloned().collect::<Vec<_>>()))
    };
    let preempted = |from, to| (from, to, Some(Wait::Preempted { by: thread(8), last: thread(8) }));
    let (first, last) = ((100, 110, None), (190, 200, None));
    let found = waits_with(&[
        switch(120, (5, running), 8),
        switch(180, (8, blocked), 5),
        switch(210, (5, blocked), 0),
    ]);
    let other = |from, to| (from, to, Some(Wait::OtherCode));
    assert_eq!(
        found,
        [first.clone(), other(110, 120), preempted(120, 180), other(180, 190), last.clone()]
    );
    // It is not known when the thread could run.
    let found = waits_with(&[
        switch(115, (5, running), 8),
        switch(120, (8, blocked), 5),
        switch(130, (5, blocked), 0),
        switch(150, (0, running), 5),
        switch(160, (5, running), 8),
        switch(180, (8, blocked), 5),
        switch(210, (5, blocked), 0),
    ]);
    let unknown = (110, 150, Some(Wait::Unknown));
    let expected = [first, unknown, other(150, 160), preempted(160, 180), other(180, 190), last];
    assert_eq!(found, expected);
}

/// Wake-ups are recorded, but too many records are not an archive without wake-ups.
#[test]
fn too_many_scheduling_records() {
    let wakeup = ThreadWakeup { ticks: 130, cpu: CPU, thread: 5, arguments: Arguments::NONE };
    let running = ThreadState::RUNNING;
    let archive = crate::testing::archive(&[
        switch(90, (0, running), 5),
        switch(115, (5, ThreadState::BLOCKED), 0),
        wakeup.into(),
    ]);
    let scheduling = |max| {
        let reader = Reader::new(&*archive);
        Scheduling::of(&History::read_at_most([5].into_iter(), (0, 200), max, reader).unwrap())
    };
    assert_eq!(scheduling(2), Scheduling::TooLong);
    assert_eq!(scheduling(3), Scheduling::Complete);
}
