//! Turns of threads on CPUs.

use super::*;

/// A recording of some threads has the switch to another one, but not those after it.
#[test]
fn turns_of_partial_threads_are_not_drawn() {
    let switch = |ticks, outgoing_thread, incoming_thread| {
        let (outgoing_state, arguments) = (ThreadState::BLOCKED, Arguments::NONE);
        ContextSwitch { ticks, cpu: 3, outgoing_state, outgoing_thread, incoming_thread, arguments }
    };
    let partial = [Argument::new("partial", Value::Bool(true))];
    let (object_type, name) = (ObjectType::THREAD, "other".into());
    let name = KernelObject { object_type, koid: 99, name, arguments: (&partial).into() };
    let timeline = read(&[
        switch(10, 99, 34).into(),
        switch(20, 34, 99).into(),
        switch(30, 99, 34).into(),
        switch(40, 34, 99).into(),
        name.into(),
        at(900, "end", INSTANT),
    ]);
    assert_eq!(lanes(&timeline, 0), [["thread 34 10..20", "thread 34 30..40"]]);
}

/// A CPU also runs threads of other processes, which have no row.
#[test]
fn threads_on_cpus_have_their_names() {
    let process = [Argument::new("process", Value::Koid(7))];
    let (object_type, koid, name) = (ObjectType::THREAD, 99, "other".into());
    let name = KernelObject { object_type, koid, name, arguments: (&process).into() };
    let (outgoing_state, arguments) = (ThreadState(0), Arguments::NONE);
    let (ticks, cpu, outgoing_thread, incoming_thread) = (10, 3, 99, 34);
    let switch =
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments };
    let timeline = read(&[
        name.into(),
        at(5, "g", EventKind::Instant { scope: Some(InstantScope::Global) }),
        switch.into(),
        at(20, "g", EventKind::Instant { scope: Some(InstantScope::Global) }),
    ]);
    assert_eq!(lanes(&timeline, 0)[0][0], "other (99) 5..10");
}

/// What CPUs run while the recording is paused is unknown. After that, the helper is another
/// provider.
#[test]
fn turns_do_not_last_through_a_pause() {
    let switch = |ticks, outgoing_thread, incoming_thread| {
        let (outgoing_state, arguments) = (ThreadState(0), Arguments::NONE);
        let cpu = 0;
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }
    };
    let times = [("from", 30), ("to", 100)];
    let arguments = times.map(|(name, ticks)| Argument::new(name, Value::Uint64(ticks)));
    let interruption = Event {
        ticks: 30,
        thread: Thread::Inline(ThreadKoids::new(1, 1)),
        category: "trace".into(),
        name: "recording interrupted".into(),
        kind: EventKind::Instant { scope: Some(InstantScope::Process) },
        arguments: (&arguments).into(),
    };
    let timeline = read(&[
        at(5, "g", EventKind::Instant { scope: Some(InstantScope::Global) }),
        switch(10, 99, 34).into(),
        Metadata::ProviderInfo { id: 2, name: b"kernel" }.into(),
        interruption.into(),
        switch(110, 34, 98).into(),
        at(120, "g", EventKind::Instant { scope: Some(InstantScope::Global) }),
    ]);
    assert_eq!(lanes(&timeline, 0), [["thread 99 5..10", "thread 34 10..30"]]);
    assert_eq!(lanes(&timeline, 1)[0][0], "thread 34 100..110");
}

/// A slice has the whole of a duration, but only its own scheduling records.
#[test]
fn a_turn_without_an_end_lasts_until_the_last_scheduling_record() {
    let switch = |ticks, cpu, outgoing_thread, incoming_thread| {
        let (outgoing_state, arguments) = (ThreadState(0), Arguments::NONE);
        ContextSwitch { ticks, cpu, outgoing_state, outgoing_thread, incoming_thread, arguments }
    };
    let timeline = read(&[
        at(5, "whole", EventKind::DurationComplete { end: 500 }),
        switch(10, 0, 99, 34).into(),
        switch(30, 1, 98, 97).into(),
    ]);
    assert_eq!(lanes(&timeline, 0), [["thread 99 5..10", "thread 34 10..30"]]);
    assert_eq!(timeline.range, (5, 500));
}
