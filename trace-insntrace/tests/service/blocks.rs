//! Threads of one process, by blocks: its other threads and its children.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use trace_insntrace::controller::{ctl, BufferConfig, BufferDescriptor, Status, ThreadKoid};
use trace_insntrace::flow::Item;
use trace_insntrace::recording::{TraceDecoder, TraceId};
use trace_insntrace::service::{Client, TraceData};
use trace_insntrace::step::Engine;

use crate::stepped::program;
use crate::target::{code_of, wait_until};
use crate::{fails, Running, BUFFER, CONFIG, THREADS};

const SECOND: BufferDescriptor = BufferDescriptor(1);

/// Larger than what is executed meanwhile.
const LARGE: BufferConfig = BufferConfig { num_chunks: 64, chunk_order: 8, ..CONFIG };

/// Starts `waiting.c`. Returns its threads, too: the first one waits, the other one counts.
fn waiting() -> (Child, [ThreadKoid; 2]) {
    let mut command = Command::new(program("waiting.c"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let tids = tasks.map(|task| task.unwrap().file_name().to_string_lossy().parse().unwrap());
    let mut tids: Vec<u64> = tids.collect();
    tids.sort_by_key(|tid| *tid != u64::from(child.id()));
    let tids = [tids[0], tids[1]].map(ThreadKoid);
    (child, tids)
}

fn finish(mut child: Child) {
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// Returns the number of instructions. All packets agree with the code.
fn decode(data: &TraceData, buffer: BufferDescriptor) -> usize {
    let mut decoder = TraceDecoder::new(&data.notes, TraceId(buffer.0), &data.packets[..]);
    let mut number = 0;
    while let Some(item) = decoder.next_item().unwrap() {
        number += usize::from(matches!(item.unwrap(), Item::Instruction(_)));
    }
    number
}

fn is_traced(thread: ThreadKoid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", thread.0)).unwrap();
    !status.contains("TracerPid:\t0\n")
}

fn capture_end(client: &Client, buffer: BufferDescriptor) -> u64 {
    client.get_buffer_state(buffer).unwrap().capture_end
}

#[test]
fn only_threads_with_a_buffer_have_packets_and_all_are_released() {
    let service = Running::with(Engine::Block);
    let client = service.connect();
    let (child, [first, second]) = waiting();
    let code = code_of(child.id());
    client.initialize(THREADS).unwrap();
    client.allocate_buffer(LARGE).unwrap();
    client.assign_thread_buffer(BUFFER, second).unwrap();
    client.start().unwrap();
    assert!(is_traced(first) && is_traced(second), "all threads meet the breakpoints");
    wait_until(|| capture_end(&client, BUFFER) > 10_000);
    assert!(code_of(child.id()) != code, "there are breakpoints");
    client.stop().unwrap();
    assert!(!is_traced(first) && !is_traced(second));
    assert!(code_of(child.id()) == code, "there are no breakpoints");
    let data = client.trace_data(BUFFER).unwrap();
    assert!(decode(&data, BUFFER) > 1000);
    finish(child);
}

#[test]
fn threads_of_a_process_are_assigned_and_released_while_tracing_is_on() {
    let service = Running::with(Engine::Block);
    let client = service.connect();
    let (child, [first, second]) = waiting();
    client.initialize(THREADS).unwrap();
    client.allocate_buffer(LARGE).unwrap();
    client.allocate_buffer(LARGE).unwrap();
    client.assign_thread_buffer(BUFFER, second).unwrap();
    client.start().unwrap();
    wait_until(|| capture_end(&client, BUFFER) > 3000);
    client.assign_thread_buffer(SECOND, first).unwrap();
    let before = capture_end(&client, BUFFER);
    wait_until(|| capture_end(&client, BUFFER) > before + 3000);
    client.release_thread_buffer(SECOND, first).unwrap();
    assert!(is_traced(first), "another thread of its process is traced");
    let before = capture_end(&client, BUFFER);
    wait_until(|| capture_end(&client, BUFFER) > before + 3000);
    client.release_thread_buffer(BUFFER, second).unwrap();
    assert!(!is_traced(first) && !is_traced(second));
    client.stop().unwrap();
    assert!(decode(&client.trace_data(BUFFER).unwrap(), BUFFER) > 3000);
    decode(&client.trace_data(SECOND).unwrap(), SECOND);
    finish(child);
}

#[test]
fn buffers_of_a_process_have_the_same_packets() {
    let service = Running::with(Engine::Block);
    let client = service.connect();
    let (child, [first, second]) = waiting();
    client.initialize(THREADS).unwrap();
    client.allocate_buffer(CONFIG).unwrap();
    let other = BufferConfig { ctl: CONFIG.ctl & !ctl::TscEnable::make(1), ..CONFIG };
    client.allocate_buffer(other).unwrap();
    client.assign_thread_buffer(BUFFER, second).unwrap();
    client.assign_thread_buffer(SECOND, first).unwrap();
    fails(client.start(), Status::NotSupported);
    assert!(!is_traced(first) && !is_traced(second));
    client.release_thread_buffer(SECOND, first).unwrap();
    client.start().unwrap();
    fails(client.assign_thread_buffer(SECOND, first), Status::NotSupported);
    assert!(is_traced(second), "it is traced as before");
    client.stop().unwrap();
    finish(child);
}

#[test]
fn children_are_not_traced() {
    let mut command = Command::new("/bin/sh");
    let script = "while read -r line; do grep TracerPid: /proc/self/status; done; exit 6";
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let service = Running::with(Engine::Block);
    let client = service.connect();
    client.initialize(THREADS).unwrap();
    client.allocate_buffer(CONFIG).unwrap();
    client.assign_thread_buffer(BUFFER, ThreadKoid(child.id().into())).unwrap();
    client.start().unwrap();
    for _ in 0..3 {
        child.stdin.as_mut().unwrap().write_all(b"x\n").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "TracerPid:\t0");
    }
    client.stop().unwrap();
    assert!(decode(&client.trace_data(BUFFER).unwrap(), BUFFER) > 1000);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(6));
}
