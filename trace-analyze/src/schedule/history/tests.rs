use trace_format::layout::ThreadState;
use trace_format::{Argument, Arguments, ContextSwitch, Reader, Record, ThreadWakeup, Value};

use super::*;

fn switch(ticks: u64, outgoing_thread: u64, incoming_thread: u64) -> Record<'static> {
    let (cpu, outgoing_state) = (0, ThreadState::BLOCKED);
    let arguments = Arguments::NONE;
    ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }.into()
}

/// Memory grows with the states in the time and of the threads only.
#[test]
fn states_outside_of_the_time_are_not_kept() {
    let waker = [Argument::new("waker", Value::Koid(9))];
    let mut records = Vec::new();
    for begin in (0..1000).step_by(10) {
        let arguments = (&waker).into();
        let wakeup = ThreadWakeup { ticks: begin + 5, cpu: 0, thread: 5, arguments };
        records.extend([switch(begin, 5, 6), wakeup.into(), switch(begin + 7, 6, 5)]);
    }
    let archive = crate::testing::archive(&records);
    let history = History::read([5].into_iter(), (502, 512), Reader::new(&*archive)).unwrap();
    let by_9 = Some(Waker::Thread(9));
    let period = |from, to, state| Period { from, to, state, last: None };
    let expected = [
        period(500, 505, PeriodState::Blocked(by_9)),
        Period { last: Some(6), ..period(505, 507, PeriodState::Woken(by_9)) },
        period(507, 510, PeriodState::Running),
        period(510, 515, PeriodState::Blocked(by_9)),
    ];
    assert_eq!(history.threads.len(), 1);
    assert_eq!(history.threads[&5], expected);
}
