//! Threads that are traced.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use trace_insntrace::controller::{ctl, BufferConfig, Status, ThreadKoid};
use trace_insntrace::flow::Item;
use trace_insntrace::recording::{TraceDecoder, TraceId};
use trace_insntrace::service::{Client, Lifetime, Settings, TraceData};
use trace_insntrace::step::Engine;

use crate::stepped::program;
use crate::target::{wait_until, Target};
use crate::{fails, with_each_engine, Running, BUFFER, CONFIG, THREADS};

with_each_engine! {
    a_thread_is_traced_from_start_to_stop,
    a_thread_whose_name_is_not_utf_8_is_traced_and_released,
    a_circular_buffer_has_the_last_instructions,
    tracing_stops_at_the_end_of_a_buffer,
    a_thread_is_released_after_its_steps,
    threads_are_assigned_and_released_while_tracing_is_on,
    the_control_register_selects_packets,
    threads_that_cannot_be_traced,
    a_thread_that_ends_keeps_its_packets,
    a_thread_that_cannot_be_interrupted_is_reported,
    a_thread_that_waits_shows_its_packets,
    a_thread_that_is_hardly_traced_shows_its_packets,
}

/// Allocates a buffer for a thread, and starts tracing.
pub(crate) fn start(client: &Client, config: BufferConfig, target: &Target) {
    client.initialize(THREADS).unwrap();
    assert_eq!(client.allocate_buffer(config).unwrap(), BUFFER);
    client.assign_thread_buffer(BUFFER, target.thread()).unwrap();
    assert!(!target.is_traced());
    client.start().unwrap();
    assert!(target.is_traced());
}

pub(crate) fn capture_end(client: &Client) -> u64 {
    client.get_buffer_state(BUFFER).unwrap().capture_end
}

/// Returns the addresses of the instructions, and the number of errors.
pub(crate) fn decode(data: &TraceData) -> (Vec<u64>, usize) {
    let mut decoder = TraceDecoder::new(&data.notes, TraceId(0), &data.packets[..]);
    let (mut ips, mut errors) = (Vec::new(), 0);
    while let Some(item) = decoder.next_item().unwrap() {
        match item {
            Ok(Item::Instruction(instruction)) => ips.push(instruction.ip),
            Ok(Item::Event(_)) => {}
            Err(_) => errors += 1,
        }
    }
    (ips, errors)
}

fn a_thread_is_traced_from_start_to_stop(engine: Engine) {
    let (service, mut target) = (Running::with(engine), Target::start());
    let client = service.connect();
    start(&client, CONFIG, &target);
    target.write_lines(20);
    wait_until(|| capture_end(&client) > 1000);
    fails(client.get_side_data(BUFFER), Status::BadState);
    client.stop().unwrap();
    assert!(!target.is_traced());
    let data = client.trace_data(BUFFER).unwrap();
    assert_eq!(data.packets.len() as u64, capture_end(&client));
    let (first, errors) = decode(&data);
    assert!(first.len() > 1000 && errors == 0, "{} and {errors}", first.len());

    // A second trace continues behind the first.
    client.start().unwrap();
    target.write_lines(20);
    wait_until(|| capture_end(&client) > data.packets.len() as u64 + 1000);
    client.stop().unwrap();
    let (both, errors) = decode(&client.trace_data(BUFFER).unwrap());
    assert!(both.len() > first.len() + 1000 && errors == 0);
    assert_eq!(both[..first.len()], first);
    fails(client.terminate(), Status::BadState);
    client.release_thread_buffer(BUFFER, target.thread()).unwrap();
    client.terminate().unwrap();
    target.finish();
}

/// Starts `cat`, and traces it while it copies a line. It waits for the next one then.
fn copy_a_line(client: &Client, config: BufferConfig) -> Child {
    let mut command = Command::new("/bin/cat");
    let mut cat = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let copy = |cat: &mut Child| {
        cat.stdin.as_mut().unwrap().write_all(b"line\n").unwrap();
        let mut copied = [0; 5];
        cat.stdout.as_mut().unwrap().read_exact(&mut copied).unwrap();
        assert_eq!(&copied, b"line\n");
    };
    copy(&mut cat);
    client.initialize(THREADS).unwrap();
    assert_eq!(client.allocate_buffer(config).unwrap(), BUFFER);
    client.assign_thread_buffer(BUFFER, ThreadKoid(cat.id().into())).unwrap();
    client.start().unwrap();
    copy(&mut cat);
    cat
}

fn a_thread_that_waits_shows_its_packets(engine: Engine) {
    let service = Running::with(engine);
    let client = service.connect();
    let mut cat = copy_a_line(&client, CONFIG);
    // PSB and the packets behind it are less.
    wait_until(|| capture_end(&client) > 60);
    client.stop().unwrap();
    assert!(capture_end(&client) < 4096);
    drop(cat.stdin.take());
    assert!(cat.wait().unwrap().success());
}

fn a_thread_that_is_hardly_traced_shows_its_packets(engine: Engine) {
    let service = Running::with(engine);
    let client = service.connect();
    let none = BufferConfig { address_ranges: [(1, 1), (0, 0)], ..CONFIG };
    let mut cat = copy_a_line(&client, none);
    wait_until(|| capture_end(&client) > 0);
    client.stop().unwrap();
    drop(cat.stdin.take());
    assert!(cat.wait().unwrap().success());
}

fn a_thread_whose_name_is_not_utf_8_is_traced_and_released(engine: Engine) {
    let mut target = Target::after(r"printf '\377\376)' > /proc/$$/comm");
    let name = fs::read(format!("/proc/{}/comm", target.thread().0)).unwrap();
    assert_eq!(name, b"\xff\xfe)\n");
    let service = Running::with(engine);
    let client = service.connect();
    start(&client, CONFIG, &target);
    target.write_lines(20);
    wait_until(|| capture_end(&client) > 1000);
    client.stop().unwrap();
    let (ips, errors) = decode(&client.trace_data(BUFFER).unwrap());
    assert!(ips.len() > 1000 && errors == 0, "{} and {errors}", ips.len());
    target.finish();
}

fn a_circular_buffer_has_the_last_instructions(engine: Engine) {
    let (service, mut target) = (Running::with(engine), Target::start());
    let client = service.connect();
    let config = BufferConfig { num_chunks: 3, chunk_order: 0, is_circular: true, ..CONFIG };
    start(&client, config, &target);
    let mut last = 0;
    for _ in 0..4 {
        target.write_lines(50);
        wait_until(|| capture_end(&client) != last);
        last = capture_end(&client);
    }
    client.stop().unwrap();
    while client.get_side_data(BUFFER).unwrap().written < 3 * 3 * 4096 {
        client.start().unwrap();
        target.write_lines(50);
        let before = capture_end(&client);
        wait_until(|| capture_end(&client) != before);
        client.stop().unwrap();
    }
    let data = client.trace_data(BUFFER).unwrap();
    assert_eq!(data.packets.len(), 3 * 4096);
    let (ips, errors) = decode(&data);
    assert!(ips.len() > 1000 && errors == 0, "{} and {errors}", ips.len());
    drop(client);
    wait_until(|| !target.is_traced());
    target.finish();
}

fn tracing_stops_at_the_end_of_a_buffer(engine: Engine) {
    let (service, mut target) = (Running::with(engine), Target::start());
    let client = service.connect();
    let config = BufferConfig { num_chunks: 2, chunk_order: 0, ..CONFIG };
    start(&client, config, &target);
    target.write_lines(500);
    wait_until(|| !target.is_traced());
    let state = client.get_buffer_state(BUFFER).unwrap();
    assert!((8192 - 32..=8192).contains(&state.capture_end) && state.is_full, "{state:?}");
    let thread = target.thread();
    client.stop().unwrap();
    let (ips, errors) = decode(&client.trace_data(BUFFER).unwrap());
    assert!(ips.len() > 1000 && errors == 0, "{} and {errors}", ips.len());
    client.start().unwrap();
    assert!(!target.is_traced(), "the buffer is full");
    client.release_thread_buffer(BUFFER, thread).unwrap();
    target.finish();
}

fn a_thread_is_released_after_its_steps(engine: Engine) {
    let settings = Settings { engine, steps: Some(2000), ..Settings::default() };
    let service = Running::new(Lifetime::Connection, settings);
    let (client, mut target) = (service.connect(), Target::start());
    start(&client, CONFIG, &target);
    target.write_lines(500);
    wait_until(|| !target.is_traced());
    client.stop().unwrap();
    let (ips, errors) = decode(&client.trace_data(BUFFER).unwrap());
    assert!((1000..=2000).contains(&ips.len()) && errors == 0, "{} and {errors}", ips.len());
    target.finish();
}

fn threads_are_assigned_and_released_while_tracing_is_on(engine: Engine) {
    let service = Running::with(engine);
    let (client, mut target, mut other) = (service.connect(), Target::start(), Target::start());
    start(&client, CONFIG, &target);
    let second = client.allocate_buffer(CONFIG).unwrap();
    client.assign_thread_buffer(second, other.thread()).unwrap();
    assert!(target.is_traced() && other.is_traced());
    other.write_lines(20);
    wait_until(|| client.get_buffer_state(second).unwrap().capture_end > 1000);
    client.release_thread_buffer(second, other.thread()).unwrap();
    assert!(target.is_traced() && !other.is_traced());
    target.write_lines(1);
    client.stop().unwrap();
    let data = client.trace_data(second).unwrap();
    let mut decoder = TraceDecoder::new(&data.notes, TraceId(1), &data.packets[..]);
    assert!(matches!(decoder.next_item(), Ok(Some(Ok(_)))));
    target.finish();
    other.finish();
}

fn the_control_register_selects_packets(engine: Engine) {
    let (service, mut target) = (Running::with(engine), Target::start());
    let client = service.connect();
    let without = |bit: u64| BufferConfig { ctl: ctl::DEFAULT & !bit, ..CONFIG };
    client.initialize(THREADS).unwrap();
    for config in [without(ctl::User::make(1)), without(ctl::BranchEnable::make(1))] {
        client.allocate_buffer(config).unwrap();
        client.assign_thread_buffer(BUFFER, target.thread()).unwrap();
        client.start().unwrap();
        assert!(!target.is_traced(), "there would be no packets");
        client.stop().unwrap();
        client.release_thread_buffer(BUFFER, target.thread()).unwrap();
        client.free_buffer(BUFFER).unwrap();
    }
    client.terminate().unwrap();
    // One byte, which is no instruction: nothing is traced outside of it.
    let range = BufferConfig { address_ranges: [(1, 1), (0, 0)], ..CONFIG };
    start(&client, range, &target);
    target.write_lines(5);
    client.stop().unwrap();
    assert_eq!(decode(&client.trace_data(BUFFER).unwrap()), (Vec::new(), 0));
    target.finish();
}

fn threads_that_cannot_be_traced(engine: Engine) {
    let (service, target) = (Running::with(engine), Target::start());
    let client = service.connect();
    client.initialize(THREADS).unwrap();
    client.allocate_buffer(CONFIG).unwrap();
    client.allocate_buffer(CONFIG).unwrap();
    for missing in [0, 4_194_305, u64::MAX] {
        fails(client.assign_thread_buffer(BUFFER, ThreadKoid(missing)), Status::NotFound);
    }
    // The kernel allows no process to trace itself. The other thread is released.
    client.assign_thread_buffer(BUFFER, target.thread()).unwrap();
    let second = trace_insntrace::controller::BufferDescriptor(1);
    let own = ThreadKoid(std::process::id().into());
    client.assign_thread_buffer(second, own).unwrap();
    fails(client.start(), Status::AccessDenied);
    assert!(!target.is_traced());
    client.release_thread_buffer(second, own).unwrap();
    client.start().unwrap();
    assert!(target.is_traced());
    client.stop().unwrap();
    target.finish();
}

fn a_thread_that_ends_keeps_its_packets(engine: Engine) {
    let (service, mut target) = (Running::with(engine), Target::start());
    let client = service.connect();
    start(&client, CONFIG, &target);
    target.write_lines(3);
    let thread = target.thread();
    drop(target);
    let path = format!("/proc/{}", thread.0);
    assert!(!fs::exists(path).unwrap());
    client.stop().unwrap();
    assert_eq!(decode(&client.trace_data(BUFFER).unwrap()).1, 0);
    client.start().unwrap();
    client.stop().unwrap();
    fails(client.terminate(), Status::BadState);
    client.release_thread_buffer(BUFFER, thread).unwrap();
    client.terminate().unwrap();
}

fn a_thread_that_cannot_be_interrupted_is_reported(engine: Engine) {
    let mut command = Command::new(program("hostile.c"));
    command.arg("in vfork").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    // It waits for its child.
    let state = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    wait_until(|| state().contains(") D "));
    let service = Running::with(engine);
    let client = service.connect();
    client.initialize(THREADS).unwrap();
    client.allocate_buffer(CONFIG).unwrap();
    client.assign_thread_buffer(BUFFER, ThreadKoid(child.id().into())).unwrap();
    client.start().unwrap();
    assert_eq!(client.close().unwrap(), 1);
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert_eq!((&*output, child.wait().unwrap().success()), ("ok\n", true));
}
