//! States of threads when a slice begins.

use trace_analyze::schedule::moment::{self, ThreadAt};
use trace_analyze::schedule::threads;
use trace_format::layout::ThreadState;
use trace_format::{ContextSwitch, ThreadWakeup, Writer};

use super::*;

const RUNNING: ThreadState = ThreadState::RUNNING;
const BLOCKED: ThreadState = ThreadState::BLOCKED;

/// Returns an archive of scheduling records, with a clock of 500 MHz that ends at 1000 ns. At
/// 400 ns thread 7 runs on CPU 2, 8 is preempted by it, 9 is blocked, and 10 was woken up by 7.
fn schedule() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.provider(4, "kernel").unwrap();
    writer.initialization(500_000_000).unwrap();
    let switch = |ticks, (outgoing_thread, outgoing_state), incoming_thread| -> Record<'static> {
        let (cpu, arguments) = (2, Arguments::NONE);
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }
            .into()
    };
    let waker = [Argument::new("waker", Value::Koid(7))];
    let anchor = Event {
        ticks: 500,
        thread: Thread::Inline(ThreadKoids::new(1, 1)),
        category: "trace".into(),
        name: "clock anchor".into(),
        kind: Instant { scope: None },
        arguments: Arguments::NONE,
    };
    for record in [
        switch(50, (0, RUNNING), 9),
        switch(60, (9, BLOCKED), 8),
        switch(100, (8, RUNNING), 7),
        ThreadWakeup { ticks: 150, cpu: 2, thread: 10, arguments: (&waker).into() }.into(),
        switch(250, (7, BLOCKED), 10),
        switch(300, (10, BLOCKED), 0),
        anchor.into(),
    ] {
        writer.record(&record).unwrap();
    }
    writer.into_inner()
}

fn sliced(archive: &[u8], selection: &Selection<'_>) -> Vec<u8> {
    let mut output = Vec::new();
    let plan = Plan::read(Reader::new(archive), selection).unwrap();
    write(Reader::new(archive), &plan, &mut output).unwrap();
    assert_eq!(check::check(Reader::new(&*output)).unwrap().verdict(), Verdict::Complete);
    output
}

fn at(archive: &[u8], nanos: u64) -> Vec<ThreadAt> {
    moment::read(Reader::new(archive), nanos).unwrap().threads
}

#[test]
fn a_slice_has_the_states_of_the_archive() {
    let whole = schedule();
    for (from, to) in [(400, None), (401, Some(599)), (199, Some(300)), (201, None)] {
        let selection = Selection { from, to, clips: true, ..Selection::default() };
        let slice = sliced(&whole, &selection);
        let end = to.unwrap_or(600);
        for nanos in (from + 1..end).step_by(7) {
            let mut expected = at(&whole, nanos);
            // What follows is not in the slice.
            for thread in &mut expected {
                thread.until = thread.until.filter(|until| to.is_none_or(|to| *until < to));
            }
            assert_eq!(at(&slice, nanos), expected, "{nanos} of {from}");
        }
    }
}

/// No switch is in the slice, and its end is that of the archive, by the clock anchor.
#[test]
fn sums_of_a_slice_without_switches() {
    let sums = |from, to| {
        let selection = Selection { from, to, ..Selection::default() };
        let report = threads::read(Reader::new(&*sliced(&schedule(), &selection))).unwrap();
        let mut sums: Vec<_> = report
            .threads
            .iter()
            .map(|times| {
                let sums = [times.running, times.runnable, times.blocked];
                (times.group.koids.thread, sums, times.turns, times.preempted)
            })
            .collect();
        sums.sort_unstable();
        sums
    };
    assert_eq!(
        sums(400, Some(450)),
        [
            (7, [50, 0, 0], 1, 0),
            (8, [0, 50, 0], 0, 1),
            (9, [0, 0, 50], 0, 0),
            (10, [0, 50, 0], 0, 0)
        ]
    );
    assert_eq!(
        sums(700, None),
        [
            (7, [0, 0, 300], 0, 0),
            (8, [0, 300, 0], 0, 1),
            (9, [0, 0, 300], 0, 0),
            (10, [0, 0, 300], 0, 0)
        ]
    );
}

/// Other selections have no scheduling records.
#[test]
fn no_states_of_selected_categories() {
    let category = |category: &str| category == "trace";
    let selection = Selection { from: 400, category: Some(&category), ..Selection::default() };
    let slice = sliced(&schedule(), &selection);
    assert!(at(&slice, 450).is_empty());
}
