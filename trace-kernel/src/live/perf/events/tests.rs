use super::super::record::{PerfRecord, SampleId};
use super::*;

/// Returns the events of records on CPU 3, each as its thread and text. `thread` is the one of
/// the record's `sample_id`.
fn events(events: &mut Events, records: &[(u32, Body)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (ticks, (thread, body)) in (1..).zip(records) {
        let sample = SampleId { process: 7, thread: *thread, time: 0, cpu: 3 };
        let record = PerfRecord { sample, body: body.clone() };
        let pushed = events.push(&Timed { ticks, since: 0, record }, |entry| {
            assert_eq!((entry.ticks, entry.cpu), (ticks, 3));
            lines.push(line(entry));
            Ok::<(), ()>(())
        });
        pushed.unwrap();
    }
    lines
}

fn line(entry: &Entry<'_>) -> String {
    let task = |task: Task<'_>| {
        assert_eq!(task.priority, None);
        let is_others = task.thread == OTHERS + 3;
        if is_others {
            "others".to_owned()
        } else {
            format!("{}{}", task.name, task.thread)
        }
    };
    match entry.event {
        Event::Switch { outgoing, state, incoming } => {
            let state = match state {
                ThreadState::RUNNING => "runnable",
                ThreadState::DEAD => "dead",
                _ => "blocked",
            };
            format!("{} {state} -> {}", task(outgoing), task(incoming))
        }
        Event::NewTask { child, name, is_in_process } => {
            format!("{}: new {name}{child} {is_in_process}", entry.thread)
        }
        Event::Fork { child, .. } => format!("{}: fork {child}", entry.thread),
        Event::Rename { thread, name } => format!("rename {name}{thread}"),
        Event::Exec { thread, former, file: "" } if thread == former => format!("exec {thread}"),
        Event::Exec { thread, former, file: "" } => format!("exec {thread} by {former}"),
        Event::Exit { task: it } => format!("exit {}", task(it)),
        other => panic!("{other:?}"),
    }
}

fn out(is_preempted: bool, to: Option<u32>) -> Body {
    Body::SwitchOut { is_preempted, to }
}

fn fork(creator: u32, process: u32, thread: u32) -> Body {
    Body::Fork { process, thread, creator_process: 7, creator }
}

#[test]
fn switches_of_selected_threads() {
    let names = [(7, "app".into())];
    let name = Body::Comm { process: 9, thread: 9, name: "child".into(), is_exec: true };
    let records = [
        (7, Body::SwitchIn { from: None }),
        (7, fork(7, 7, 8)),
        (7, fork(7, 9, 9)),
        (7, out(true, None)),
        (9, name),
        (7, Body::SwitchIn { from: None }),
        (7, out(false, None)),
        (9, Body::Exit { process: 7, thread: 9 }),
        (0, Body::Lost { number: 3 }),
    ];
    let expected = [
        "others runnable -> app7",
        "7: new app8 true",
        "7: fork 8",
        "7: new app9 false",
        "7: fork 9",
        "app7 runnable -> others",
        "rename child9",
        "exec 9",
        "others runnable -> app7",
        "app7 blocked -> others",
        "exit child9",
        "child9 dead -> others",
    ];
    assert_eq!(events(&mut Events::new(names, Switches::Threads, &[7]), &records), expected);
}

/// Thread 7 starts the command 9, which starts 10.
#[test]
fn the_starter_of_a_command_is_not_in_its_scope() {
    let names = || [(7, "trace".into()), (5, "other".into())];
    let exec = Body::Comm { process: 9, thread: 9, name: "app".into(), is_exec: true };
    let of_cpus = [
        (7, out(true, Some(5))),
        (5, out(true, Some(7))),
        (7, fork(7, 9, 9)),
        (7, out(false, Some(9))),
        (9, exec.clone()),
        (9, fork(9, 10, 10)),
        (9, out(false, Some(7))),
        (7, Body::Exit { process: 7, thread: 7 }),
        (NO_THREAD, out(false, Some(10))),
        (10, out(false, Some(5))),
    ];
    let expected = [
        "7: new trace9 false",
        "7: fork 9",
        "trace7 blocked -> trace9",
        "rename app9",
        "exec 9",
        "9: new app10 false",
        "9: fork 10",
        "app9 blocked -> trace7",
        "trace7 dead -> app10",
        "app10 blocked -> other5",
    ];
    let mut machine = Events::new(names(), Switches::Machine, &[]);
    machine.limit_to_command(7);
    assert_eq!(events(&mut machine, &of_cpus), expected);
    let of_threads = [
        (7, Body::SwitchIn { from: None }),
        (7, fork(7, 9, 9)),
        (7, out(false, None)),
        (9, Body::SwitchIn { from: None }),
        (9, exec),
        (7, Body::SwitchIn { from: None }),
        (7, Body::Exit { process: 7, thread: 7 }),
        (9, fork(9, 7, 7)),
        (7, Body::SwitchIn { from: None }),
    ];
    let expected = [
        "7: new trace9 false",
        "7: fork 9",
        "others runnable -> trace9",
        "rename app9",
        "exec 9",
        "9: new app7 true",
        "9: fork 7",
        "others runnable -> app7",
    ];
    let mut threads = Events::new(names(), Switches::Threads, &[]);
    threads.limit_to_command(7);
    assert_eq!(events(&mut threads, &of_threads), expected);
}

#[test]
fn switches_of_cpus_have_both_threads() {
    let names = [(5, "other".into()), (7, "app".into())];
    let records = [
        (5, out(true, Some(6))),
        (6, Body::SwitchIn { from: Some(5) }),
        (6, out(false, Some(7))),
        (7, Body::SwitchIn { from: Some(6) }),
        (7, fork(7, 7, 8)),
        (5, fork(5, 5, 50)),
        (7, out(true, Some(0))),
        (0, out(false, Some(8))),
        (8, Body::Exit { process: 7, thread: 8 }),
        // The kernel does not name a thread that has ended.
        (NO_THREAD, out(false, Some(5))),
        (5, Body::SwitchIn { from: Some(NO_THREAD) }),
        (5, out(false, Some(8))),
    ];
    let expected = [
        "6 blocked -> app7",
        "7: new app8 true",
        "7: fork 8",
        "app7 runnable -> 0",
        "0 runnable -> app8",
        "exit app8",
        "app8 dead -> other5",
    ];
    assert_eq!(
        events(&mut Events::new(names.clone(), Switches::Machine, &[7]), &records),
        expected
    );
    let all = events(&mut Events::new(names, Switches::Machine, &[]), &records);
    assert_eq!(all.len(), expected.len() + 4, "{all:?}");
    assert_eq!(all[0], "other5 runnable -> 6");
}

#[test]
fn a_switch_from_an_idle_thread_without_records() {
    let records = [
        (7, out(false, Some(0))),
        (5, Body::SwitchIn { from: Some(0) }),
        (5, out(true, Some(0))),
        (7, Body::SwitchIn { from: Some(0) }),
        (7, out(false, Some(0))),
        (0, out(false, Some(7))),
        (7, Body::SwitchIn { from: Some(0) }),
    ];
    let found = events(&mut Events::new([], Switches::Machine, &[7]), &records);
    let expected = ["7 blocked -> 0", "0 runnable -> 7", "7 blocked -> 0", "0 runnable -> 7"];
    assert_eq!(found, expected);
}

#[test]
fn a_thread_that_is_preempted_before_its_last_switch_ends_with_that() {
    let preempted = [
        (0, out(false, Some(7))),
        (7, Body::SwitchIn { from: Some(0) }),
        (7, Body::Exit { process: 7, thread: 7 }),
        (7, out(true, Some(5))),
        (5, Body::SwitchIn { from: Some(7) }),
    ];
    let last = [
        // Its parent may have waited for it meanwhile, or not.
        [(5, out(false, Some(NO_THREAD))), (NO_THREAD, out(false, Some(5)))],
        [(5, out(false, Some(7))), (7, out(false, Some(5)))],
    ];
    let expected =
        ["0 runnable -> 7", "exit 7", "7 runnable -> 5", "5 blocked -> 7", "7 dead -> 5"];
    for last in last {
        let records = [&preempted[..], &last].concat();
        assert_eq!(events(&mut Events::new([], Switches::Machine, &[7]), &records), expected);
    }
}

#[test]
fn a_thread_that_is_preempted_while_it_ends_is_dead_and_has_no_other_id() {
    let records = [
        (7, Body::SwitchIn { from: Some(0) }),
        (7, Body::Exit { process: 7, thread: 7 }),
        (NO_THREAD, out(true, Some(5))),
        (5, Body::SwitchIn { from: Some(NO_THREAD) }),
        (5, out(false, Some(NO_THREAD))),
        (NO_THREAD, Body::SwitchIn { from: Some(5) }),
        (NO_THREAD, out(false, Some(5))),
    ];
    let expected = ["exit 7", "7 dead -> 5", "5 blocked -> others", "others runnable -> 5"];
    assert_eq!(events(&mut Events::new([], Switches::Machine, &[]), &records), expected);
    let in_scope = events(&mut Events::new([], Switches::Machine, &[5]), &records);
    assert_eq!(in_scope, expected[1..]);
    let from_idle = [
        (7, out(false, Some(0))),
        (NO_THREAD, Body::SwitchIn { from: Some(0) }),
        (NO_THREAD, out(false, Some(7))),
    ];
    let expected = ["7 blocked -> 0", "0 runnable -> others", "others runnable -> 7"];
    assert_eq!(events(&mut Events::new([], Switches::Machine, &[]), &from_idle), expected);
    // The first record of a CPU.
    let first = [(NO_THREAD, out(false, Some(5)))];
    assert_eq!(
        events(&mut Events::new([], Switches::Machine, &[]), &first),
        ["others runnable -> 5"]
    );
}

/// Threads outside of a control group have no records: those of its threads name them.
#[test]
fn switches_of_a_control_group() {
    let out = |to| Body::SwitchOut { is_preempted: false, to: Some(to) };
    let into = |from| Body::SwitchIn { from: Some(from) };
    let records = [(5, into(9)), (5, out(6)), (6, into(5)), (6, out(9)), (5, into(0))];
    let expected = ["9 runnable -> 5", "5 blocked -> 6", "6 blocked -> 9", "0 runnable -> 5"];
    assert_eq!(events(&mut Events::new([], Switches::Cgroup, &[]), &records), expected);
}

/// The kernel ends the first thread of a process of which another one executes a program, and gives
/// its id to that one.
#[test]
fn a_program_that_another_thread_than_the_first_executes() {
    let exec = Body::Comm { process: 7, thread: 7, name: "new".into(), is_exec: true };
    let records = [
        (7, fork(7, 7, 8)),
        (7, out(false, Some(8))),
        (8, Body::SwitchIn { from: Some(7) }),
        (8, out(false, Some(7))),
        (7, Body::Exit { process: 7, thread: 7 }),
        (7, out(false, Some(8))),
        (7, exec),
        (7, out(true, Some(5))),
        (7, fork(7, 9, 9)),
    ];
    let expected = [
        "7: new app8 true",
        "7: fork 8",
        "app7 blocked -> app8",
        "app8 blocked -> app7",
        "exit app7",
        "app7 dead -> app8",
        "rename new7",
        "exec 7 by 8",
        "new7 runnable -> 5",
        "7: new new9 false",
        "7: fork 9",
    ];
    let mut of_scope = Events::new([(7, "app".into())], Switches::Machine, &[7]);
    of_scope.set_processes([(5, 5), (7, 7)]);
    assert_eq!(events(&mut of_scope, &records), expected);
}
