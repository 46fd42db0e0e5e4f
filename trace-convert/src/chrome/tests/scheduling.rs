//! Scheduling records.

use trace_format::layout::{ObjectType, ThreadState};
use trace_format::{
    Argument, Arguments, ContextSwitch, KernelObject, LegacyContextSwitch, Process, Reader, Record,
    Thread, ThreadKoids, ThreadWakeup, UserspaceObject, Value,
};

use super::{convert_bytes, write};
use crate::testing::{archive, THREAD};

fn name_thread(name: &str) -> Record<'_> {
    let (object_type, arguments) = (ObjectType::THREAD, Arguments::NONE);
    KernelObject { object_type, koid: 34, name: name.into(), arguments }.into()
}

fn switch(
    ticks: u64,
    outgoing_thread: u64,
    outgoing_state: ThreadState,
    incoming_thread: u64,
) -> ContextSwitch<'static> {
    let arguments = Arguments::NONE;
    ContextSwitch { ticks, cpu: 2, outgoing_state, outgoing_thread, incoming_thread, arguments }
}

const CPU: &str = concat!(
    r#"{"ph":"M","pid":4294967295,"tid":4294836226,"name":"process_name","tef:added":true,"args":{"name":"CPUs"}}"#,
    "\n",
    r#"{"ph":"M","pid":4294967295,"tid":4294836226,"name":"process_labels","tef:added":true,"args":{"labels":"the same as systemTraceEvents"}}"#,
    "\n",
    r#"{"ph":"M","pid":4294967295,"tid":4294836226,"name":"thread_name","tef:added":true,"args":{"name":"CPU 2"}}"#,
    "\n",
);

/// Returns the JSON of these records, after the names of CPU 2.
fn on_cpu(records: &[Record<'_>]) -> String {
    let (events, _) = convert_bytes(&archive(records));
    let events = events.into_iter().map(|event| event + "\n").collect::<String>();
    events
        .strip_prefix(CPU)
        .unwrap()
        .replace(r#""pid":4294967295,"tid":4294836226,"cat":"sched""#, "CPU")
}

#[test]
fn turns_are_durations_on_a_cpu() {
    let named = name_thread("main");
    let weights = [
        Argument::new("outgoing_weight", Value::Int32(i32::MIN)),
        Argument::new("incoming_weight", Value::Int32(-1)),
    ];
    let first =
        ContextSwitch { arguments: (&weights).into(), ..switch(1500, 99, ThreadState(0), 34) };
    let wakeup = ThreadWakeup { ticks: 1600, cpu: 2, thread: 35, arguments: Arguments::NONE };
    let records = [
        first.into(),
        wakeup.into(),
        switch(1700, 34, ThreadState::BLOCKED, 35).into(),
        // The end of thread 35 is missing.
        switch(2000, 36, ThreadState(9), 0).into(),
        switch(2500, 0, ThreadState::RUNNING, 37).into(),
    ];
    let expected = concat!(
        r##"{"ph":"i",CPU,"name":"wakeup","ts":1.600,"s":"t","tef:added":true,"args":{"thread":"#35"}}"##,
        "\n",
        r##"{"ph":"X",CPU,"name":"34","ts":1.500,"dur":0.200,"tef:added":true,"args":{"thread":"#34","weight":-1,"state afterwards":"blocked"}}"##,
        "\n",
        r##"{"ph":"i",CPU,"name":"35","ts":1.700,"s":"t","tef:added":true,"args":{"thread":"#35"}}"##,
        "\n",
        r##"{"ph":"B",CPU,"name":"37","ts":2.500,"tef:added":true,"args":{"thread":"#37"}}"##,
        "\n",
    );
    assert_eq!(on_cpu(&records), expected);
    let (events, _) = convert_bytes(&archive(&[&[named], &records[..]].concat()));
    assert!(events.concat().contains(r#""name":"main","ts":1.500,"dur":0.200"#), "{events:?}");
}

/// A recording of some threads has the switch to another one, but not those after it.
#[test]
fn turns_of_partial_threads_are_instants() {
    let partial = [Argument::new("partial", Value::Bool(true))];
    let (object_type, name) = (ObjectType::THREAD, "other".into());
    let other = KernelObject { object_type, koid: 99, name, arguments: (&partial).into() }.into();
    let blocked = ThreadState::BLOCKED;
    let wakeup = ThreadWakeup { ticks: 1900, cpu: 2, thread: 99, arguments: Arguments::NONE };
    let records = [
        switch(1500, 99, blocked, 34).into(),
        switch(1700, 34, blocked, 99).into(),
        switch(1800, 99, blocked, 34).into(),
        wakeup.into(),
        switch(2000, 34, blocked, 99).into(),
    ];
    let all = [&[other], &records[..]].concat();
    let (events, _) = convert_bytes(&archive(&all));
    let of_turns = |event: &String| event.contains(r#""name":"other","ts":"#);
    let of_turns: Vec<String> = events.iter().filter(|event| of_turns(event)).cloned().collect();
    assert_eq!(of_turns.len(), 2, "{events:?}");
    assert!(of_turns.iter().all(|event| event.starts_with(r#"{"ph":"i""#)), "{of_turns:?}");
    assert!(!events.concat().contains(r#""ph":"B""#), "{events:?}");
    let lines = system(&all);
    assert!(!lines.contains("other") && !lines.contains("=99"), "{lines}");
    assert_eq!(lines.matches("prev_pid=0 ").count(), 2, "{lines}");
    assert_eq!(lines.matches("next_pid=0 ").count(), 2, "{lines}");
}

/// A turn that began before a slice begins with the slice.
#[test]
fn a_turn_from_before_a_slice() {
    let age = [Argument::new("state_age_ns", Value::Uint64(1000))];
    let begin = switch(1500, 0, ThreadState::RUNNING, 34);
    let begin = ContextSwitch { arguments: (&age).into(), ..begin };
    let json = on_cpu(&[begin.into(), switch(1700, 34, ThreadState::BLOCKED, 0).into()]);
    assert!(json.contains(r#""name":"34","ts":1.500,"dur":0.200"#), "{json}");
    assert!(!json.contains(r#""ts":0.500"#), "{json}");
}

/// A turn is written at its end, with the time of its start.
#[test]
fn a_record_without_a_time_gets_that_of_the_record_before() {
    let process = Process::Inline(12);
    let (pointer, name, arguments) = (0xa, "object".into(), Arguments::NONE);
    let object = UserspaceObject { process, pointer, name, arguments }.into();
    let ran = switch(1500, 0, ThreadState::RUNNING, 34).into();
    let (events, _) = convert_bytes(&archive(&[ran, object]));
    assert!(events.concat().contains(r#""name":"object","ts":1.500"#), "{events:?}");
    let went = switch(1700, 34, ThreadState::BLOCKED, 0).into();
    let (events, _) = convert_bytes(&archive(&[ran, went, object]));
    assert!(events.concat().contains(r#""name":"object","ts":1.700"#), "{events:?}");
}

#[test]
fn other_arguments_become_an_instant() {
    let more = [Argument::new("reason", Value::Int32(7))];
    let idle =
        ContextSwitch { arguments: (&more).into(), ..switch(1500, 34, ThreadState::DEAD, 0) };
    let expected = concat!(
        r##"{"ph":"i",CPU,"name":"context switch","ts":1.500,"s":"t","args":{"outgoing":"#34","##,
        r##""outgoing state":"dead","incoming":"#0","reason":7}}"##,
        "\n",
    );
    assert_eq!(on_cpu(&[idle.into()]), expected);
}

#[test]
fn legacy_context_switches_have_priorities() {
    let other = Thread::Inline(ThreadKoids::new(56, 78));
    let switch = |ticks, outgoing, incoming| LegacyContextSwitch {
        ticks,
        cpu: 2,
        outgoing_state: ThreadState(9),
        outgoing,
        incoming,
        outgoing_priority: 1,
        incoming_priority: 2,
    };
    let records = [
        switch(1500, Thread::Inline(THREAD), other).into(),
        switch(2500, other, Thread::Inline(ThreadKoids::UNKNOWN)).into(),
    ];
    let expected = concat!(
        r##"{"ph":"X",CPU,"name":"78","ts":1.500,"dur":1.000,"tef:added":true,"##,
        r##""args":{"thread":"#78","process":"#56","weight":2,"state afterwards":9}}"##,
        "\n",
    );
    assert_eq!(on_cpu(&records), expected);
}

/// Returns the member `systemTraceEvents`.
fn system(records: &[Record<'_>]) -> String {
    let mut json = Vec::new();
    write(Reader::new(&archive(records)[..]), &mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    json["systemTraceEvents"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn scheduling_becomes_lines_of_ftrace() {
    let named = name_thread("main");
    let weight = [Argument::new("incoming_weight", Value::Int32(7))];
    let switch = ContextSwitch {
        ticks: 1_000_001_500,
        cpu: 2,
        outgoing_state: ThreadState::BLOCKED,
        outgoing_thread: 34,
        incoming_thread: 0,
        arguments: (&weight).into(),
    };
    let idle = [Argument::new("incoming_weight", Value::Int32(i32::MIN))];
    let to_idle = ContextSwitch {
        ticks: 1_000_002_000,
        incoming_thread: 5,
        arguments: (&idle).into(),
        ..switch
    };
    let wakeup = ThreadWakeup { ticks: 1600, cpu: 2, thread: 35, arguments: Arguments::NONE };
    let waker = [Argument::new("waker", Value::Koid(34))];
    let woken = ThreadWakeup { arguments: (&waker).into(), ..wakeup };
    let interrupt = [
        Argument::new("interrupt", Value::String("hard".into())),
        Argument::new("interrupted", Value::Koid(34)),
    ];
    let interrupted = ThreadWakeup { arguments: (&interrupt).into(), ..wakeup };
    let lines = concat!(
        "# tracer: nop\n",
        "main-34 [002] .... 1.000001500: sched_switch: prev_comm=main prev_pid=34 prev_prio=120 ",
        "prev_state=S ==> next_comm=swapper/2 next_pid=0 next_prio=7\n",
        "swapper/2-0 [002] .... 0.000001600: sched_wakeup: comm=35 pid=35 prio=120 target_cpu=002\n",
        "main-34 [002] .... 0.000001600: sched_waking: comm=35 pid=35 prio=120 target_cpu=002\n",
        "main-34 [002] .... 0.000001600: sched_wakeup: comm=35 pid=35 prio=120 target_cpu=002\n",
        "main-34 [002] ..h. 0.000001600: sched_waking: comm=35 pid=35 prio=120 target_cpu=002\n",
        "main-34 [002] ..h. 0.000001600: sched_wakeup: comm=35 pid=35 prio=120 target_cpu=002\n",
        "main-34 [002] .... 1.000002000: sched_switch: prev_comm=main prev_pid=34 prev_prio=120 ",
        "prev_state=S ==> next_comm=swapper/2 next_pid=0 next_prio=120\n",
    );
    let (wakeup, woken, interrupted) = (wakeup.into(), woken.into(), interrupted.into());
    let records = [named, switch.into(), wakeup, woken, interrupted, to_idle.into()];
    assert_eq!(system(&records), lines);
    assert_eq!(system(&[named]), "");
    assert!(system(&[name_thread("#1\n"), switch.into()]).contains("\n #1 -34 [002] "));
}

#[test]
fn many_lines_of_ftrace_are_spooled() {
    let wakeup = ThreadWakeup { ticks: 1600, cpu: 2, thread: 35, arguments: Arguments::NONE };
    let lines = system(&vec![wakeup.into(); 30_000]);
    assert_eq!(lines.lines().count(), 30_001);
    assert!(lines.len() > 2 << 20);
}
