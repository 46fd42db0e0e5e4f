//! The step engine: its trace has the executed instructions.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../common/stepped.rs"]
mod stepped;

use std::process::{Command, Stdio};

use trace_insntrace::flow::{Event, FlowDecoder, Image, Item};
use trace_insntrace::pt::Writer;
use trace_insntrace::step::{StepEnd, Stepper};

fn decode(image: Image, packets: &[u8]) -> (Vec<u64>, Vec<Event>) {
    let mut flow = FlowDecoder::new(image);
    flow.push(packets);
    flow.end();
    let (mut ips, mut events) = (Vec::new(), Vec::new());
    while let Some(item) = flow.next_item() {
        match item.unwrap() {
            Item::Instruction(instruction) => ips.push(instruction.ip),
            Item::Event(event) => events.push(event),
        }
    }
    (ips, events)
}

#[track_caller]
fn assert_same(found: &[u64], executed: &[u64]) {
    let first = found.iter().zip(executed).position(|(found, executed)| found != executed);
    assert_eq!(first, None, "of {} and {}", found.len(), executed.len());
    assert_eq!(found.len(), executed.len());
}

#[test]
fn the_trace_has_the_instructions_that_were_executed() {
    let run = stepped::run(Writer::new());
    assert!(run.executed.len() > 10_000);
    let (ips, events) = decode(run.image, &run.packets);
    assert_same(&ips, &run.executed);
    let interrupted = |event: &&Event| matches!(event, Event::Interrupted { .. });
    // SIGUSR1, SIGCHLD and SIGSEGV.
    assert_eq!(events.iter().filter(interrupted).count(), 3);
}

#[test]
fn returns_may_be_written_whole_and_branches_in_long_packets() {
    let run = stepped::run(Writer::new().compress_returns(false).long_tnt(true));
    let (ips, _) = decode(run.image, &run.packets);
    assert_same(&ips, &run.executed);
}

#[test]
fn a_detached_program_continues() {
    let mut command = Command::new(stepped::program());
    command.stdout(Stdio::piped());
    let mut stepper = Stepper::start(&mut command, Writer::new(), || 0).unwrap();
    for _ in 0..1000 {
        stepper.step().unwrap().unwrap();
    }
    let child = stepper.detach();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, stepped::OUTPUT.as_bytes());
}

fn shell(script: &str) -> (Stepper, Vec<u64>) {
    let mut command = Command::new("/bin/sh");
    let mut stepper = Stepper::start(command.args(["-c", script]), Writer::new(), || 0).unwrap();
    let mut executed = Vec::new();
    while let Some(ip) = stepper.step().unwrap() {
        executed.push(ip);
    }
    (stepper, executed)
}

#[test]
fn another_program_is_not_traced() {
    let (mut stepper, executed) = shell("exec /bin/sh -c 'exit 5'");
    assert_eq!(stepper.end(), Some(StepEnd::Exec));
    assert_eq!(stepper.child_mut().wait().unwrap().code(), Some(5));
    let (ips, _) = decode(stepper.image().clone(), &stepper.take_packets());
    assert_same(&ips, &executed);
}

#[test]
fn children_are_not_traced_and_signals_end_processes() {
    let (mut stepper, executed) = shell("/bin/sh -c 'exit 3'; [ $? = 3 ] && kill -TERM $$");
    assert_eq!(stepper.end(), Some(StepEnd::Killed(15)));
    let (ips, _) = decode(stepper.image().clone(), &stepper.take_packets());
    assert_same(&ips, &executed);
}

#[test]
fn a_program_that_is_missing_is_an_error() {
    let error = Stepper::start(&mut Command::new("/missing"), Writer::new(), || 0).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
