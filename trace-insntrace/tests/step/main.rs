//! The step engine: its traces have the executed instructions.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod blocks;
mod budget;
mod circles;
mod flags;
mod function;
mod generated;
mod hostile;
mod listed;
#[path = "../common/listed.rs"]
mod lists;
mod parts;
mod printed;
#[path = "../common/required.rs"]
mod required;
mod started;
#[path = "../common/stepped.rs"]
mod stepped;
mod traps;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use stepped::{finish, options, program, Stepped, FIRST};
use trace_insntrace::flow::{Event, Instruction, Item};
use trace_insntrace::pt::{Packet, PacketDecoder, Writer};
use trace_insntrace::recording::{Note, ThreadEnd, TraceDecoder, TraceId};
use trace_insntrace::step::{Options, TracedRange, Tracer};

fn shell(script: &str) -> (Stepped, ThreadEnd) {
    let mut command = Command::new("/bin/sh");
    stepped::trace(command.args(["-c", script]), options(Writer::new()))
}

#[test]
fn the_trace_has_the_instructions_that_were_executed() {
    let run = stepped::run(Writer::new());
    assert!(run.executed.len() > 10_000);
    run.check();
    let (_, events) = run.decode(FIRST);
    let interrupted = |event: &&Event| matches!(event, Event::Interrupted { .. });
    // SIGUSR1, SIGCHLD and SIGSEGV.
    assert_eq!(events.iter().filter(interrupted).count(), 3);
}

#[test]
fn returns_may_be_written_whole_and_branches_in_long_packets() {
    stepped::run(Writer::new().compress_returns(false).long_tnt(true)).check();
}

#[test]
fn threads_children_and_changed_code_are_traced() {
    let mut command = Command::new(program("threads.c"));
    command.stdout(Stdio::piped());
    let mut tracer = Tracer::start(&mut command, options(Writer::new())).unwrap();
    let run = finish(&mut tracer);
    let mut output = String::new();
    let stdout = tracer.child_mut().unwrap().stdout.take();
    stdout.unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(output, "42 43 44 2 1 0 5\n");
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(0));
    assert_eq!(run.packets.len(), 4, "two more threads and a child");
    run.check();
    let mut ends: Vec<_> = run.notes.iter().filter_map(end).collect();
    ends.sort_by_key(|(trace, _)| *trace);
    let exited = (0..4).map(|trace| (TraceId(trace), ThreadEnd::Exited(0)));
    assert_eq!(ends, exited.collect::<Vec<_>>());
}

fn end(note: &Note) -> Option<(TraceId, ThreadEnd)> {
    match note {
        Note::End { trace, end } => Some((*trace, *end)),
        _ => None,
    }
}

#[test]
fn changed_code_is_decoded_as_it_was() {
    let mut command = Command::new(program("threads.c"));
    let (run, _) = stepped::trace(command.stdout(Stdio::null()), options(Writer::new()));
    let mut decoder = TraceDecoder::new(&run.notes, FIRST, &run.packets[&FIRST][..]);
    let mut values = Vec::new();
    while let Some(item) = decoder.next_item().unwrap() {
        let Item::Instruction(Instruction { ip, length: 5, .. }) = item.unwrap() else { continue };
        let mut code = [0; 6];
        decoder.flow().image().read(ip, &mut code);
        if let [0xb8, value @ 42..=44, 0, 0, 0, 0xc3] = code {
            values.push(value);
        }
    }
    assert_eq!(values, [42, 43, 44]);
}

#[test]
fn a_program_that_is_released_continues() {
    let mut command = Command::new(program("program.c"));
    command.stdout(Stdio::piped());
    let budget = Some(1000);
    let mut tracer =
        Tracer::start(&mut command, Options { budget, ..options(Writer::new()) }).unwrap();
    let run = finish(&mut tracer);
    assert_eq!(tracer.steps(), 1000);
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(7));
    let mut output = String::new();
    let stdout = tracer.child_mut().unwrap().stdout.take();
    stdout.unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(output, stepped::OUTPUT);
    run.check();
    assert_eq!(run.notes.iter().find_map(end), Some((FIRST, ThreadEnd::Detached)));
}

#[test]
fn programs_that_are_executed_are_traced() {
    let (run, end) = shell("exec /bin/sh -c 'exit 5'");
    assert_eq!(end, ThreadEnd::Exited(5));
    run.check();
    let mut spaces: Vec<_> = run.notes.iter().filter_map(space).collect();
    spaces.dedup();
    assert_eq!(spaces, [0, 1]);
}

fn space(note: &Note) -> Option<u32> {
    match note {
        Note::Position { space, .. } => Some(space.0),
        _ => None,
    }
}

#[test]
fn children_are_traced_and_signals_end_processes() {
    let (run, end) = shell("/bin/sh -c 'exit 3'; [ $? = 3 ] && kill -TERM $$");
    assert_eq!(end, ThreadEnd::Killed(15));
    assert_eq!(run.packets.len(), 2);
    run.check();
}

#[test]
fn a_program_that_is_missing_is_an_error() {
    let command = &mut Command::new("/missing");
    let error = Tracer::start(command, options(Writer::new())).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

/// Starts `waiting.c`, and waits until its threads run.
fn waiting() -> Child {
    spawn(&mut Command::new(program("waiting.c")))
}

/// Starts a program, and waits for its first output.
fn spawn(command: &mut Command) -> Child {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    child
}

/// Traces for some steps, releases the process, and checks that it continues until its input ends.
fn trace_and_release(mut child: Child, mut tracer: Tracer, steps: usize) {
    let mut run = Stepped::default();
    for _ in 0..steps {
        run.executed.push(tracer.step().unwrap().unwrap());
    }
    tracer.stop().unwrap();
    while let Some(executed) = tracer.step().unwrap() {
        run.executed.push(executed);
    }
    run.drain(&mut tracer);
    run.check();
    drop(tracer);
    assert_eq!(status(&child, "TracerPid:"), "0");
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_process_that_runs_is_traced_and_released() {
    let child = waiting();
    let tracer = Tracer::attach(child.id(), options(Writer::new())).unwrap();
    trace_and_release(child, tracer, 500);
}

#[test]
fn a_process_whose_first_thread_has_exited_is_traced() {
    let mut command = Command::new(program("leaderless.c"));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    while !status(&child, "State:").starts_with('Z') {
        std::thread::yield_now();
    }
    let mut tracer = Tracer::attach(child.id(), options(Writer::new())).unwrap();
    tracer.stop().unwrap();
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(4));
}

fn status(child: &Child, field: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.unwrap().trim().to_owned()
}

#[test]
fn one_thread_is_traced_and_none_that_it_creates() {
    let mut command = Command::new("/bin/sh");
    // The shell may have started before it is traced: the loop takes several boundaries alone.
    let script = "read -r line; /bin/true; i=0; while [ $i -lt 6 ]; do i=$((i + 1)); done; \
                  read -r line; exit 4";
    command.args(["-c", script]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut settings = options(Writer::new());
    (settings.has_time, settings.psb_bytes) = (false, 2048);
    let mut tracer = Tracer::attach_thread(child.id(), settings).unwrap();
    child.stdin.take().unwrap().write_all(b"x\ny\n").unwrap();
    let run = finish(&mut tracer);
    // The tracer, its parent too, has waited for it.
    child.wait().unwrap_err();
    assert_eq!(run.packets.keys().collect::<Vec<_>>(), [&FIRST]);
    run.check();
    assert_eq!(run.notes.iter().find_map(end), Some((FIRST, ThreadEnd::Exited(4))));
    let mut packets = PacketDecoder::new();
    packets.push(&run.packets[&FIRST]);
    let mut offsets = Vec::new();
    while let Some(found) = packets.next_packet() {
        let found = found.unwrap();
        assert!(!matches!(found.packet, Packet::Tsc(_)));
        offsets.extend((found.packet == Packet::Psb).then_some(found.offset));
    }
    assert!(offsets.len() > 2 && offsets.windows(2).all(|two| two[1] - two[0] < 2048 + 100));
    assert!(Tracer::attach_thread(4_194_305, options(Writer::new())).is_err());
}

#[test]
fn only_the_instructions_of_a_range_are_traced() {
    let mut child = waiting();
    let ranges = vec![TracedRange::Symbol("add".into())];
    let budget = Some(2000);
    let mut tracer =
        Tracer::attach(child.id(), Options { ranges, budget, ..options(Writer::new()) }).unwrap();
    let run = finish(&mut tracer);
    drop(tracer);
    child.kill().unwrap();
    child.wait().unwrap();
    run.check();
    let (first, last) = (run.executed.iter().min_by_key(|it| it.ip).unwrap().ip, 64);
    assert!(run.executed.len() > 100 && run.executed.len() < 2000, "{}", run.executed.len());
    assert!(run.executed.iter().all(|it| it.ip < first + last));
}

#[test]
fn a_handle_stops_tracing_while_the_program_waits() {
    let mut command = Command::new("/bin/cat");
    command.stdin(Stdio::piped());
    let mut tracer = Tracer::start(&mut command, options(Writer::new())).unwrap();
    let handle = tracer.stop_handle().unwrap();
    let stdin = tracer.child_mut().unwrap().stdin.take();
    let mut dropped = Some(handle);
    let run = std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let handle = dropped.take();
        scope.spawn(move || {
            // Steps come while the program starts; it waits when there are none.
            while receiver.recv_timeout(std::time::Duration::from_millis(500)).is_ok() {}
            drop(handle);
        });
        let mut run = Stepped::default();
        while let Some(executed) = tracer.step().unwrap() {
            run.executed.push(executed);
            let _ = sender.send(());
        }
        run.drain(&mut tracer);
        run
    });
    run.check();
    drop(stdin);
    assert_eq!(tracer.wait().unwrap(), ThreadEnd::Exited(0));
}
