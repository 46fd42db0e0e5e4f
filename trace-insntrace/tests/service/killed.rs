//! A client that is killed in every state.

use std::io::Write;

use trace_insntrace::controller::{Allocation, Mode, Status, ThreadKoid, MAX_TRACES};
use trace_insntrace::service::Client;
use trace_insntrace::step::Engine;
use trace_kernel::perf_event::{online, SideEvents, Target as EventTarget};
use trace_protocol::clock;

use crate::processes::{argument, Held, Helper, ARGUMENT, SOCKET};
use crate::required::lacks;
use crate::target::{wait_until, Target};
use crate::{with_each_engine, BUFFER, CONFIG, THREADS};

/// The sockets of a service without a client: the listener, and the pair that ends the service.
const IDLE_SOCKETS: usize = 3;

/// How much memory may differ, such as that of a table that has grown.
const KEPT_BYTES: usize = 4096;

/// The clients after which the service has all that it creates once: some of it comes when the
/// first one has left already.
const FIRST_CLIENTS: usize = 2;

type Step = fn(&Client, ThreadKoid);

const STEPS: [Step; 7] = [
    |client, _| client.initialize(THREADS).unwrap(),
    |client, _| assert_eq!(client.allocate_buffer(CONFIG).unwrap(), BUFFER),
    |client, thread| client.assign_thread_buffer(BUFFER, thread).unwrap(),
    |client, _| client.start().unwrap(),
    |client, _| client.stop().unwrap(),
    |client, _| drop(client.trace_data(BUFFER).unwrap()),
    |client, thread| client.release_thread_buffer(BUFFER, thread).unwrap(),
];

/// The index of the step after which tracing is on.
const STARTED: usize = 4;

const CPU_STEPS: [Step; 6] = [
    |client, _| {
        let num_traces = online().len() as u16;
        client.initialize(Allocation { mode: Mode::Cpu, num_traces }).unwrap();
    },
    |client, _| assert_eq!(client.allocate_buffer(CONFIG).unwrap(), BUFFER),
    |client, _| {
        for _ in online().into_iter().skip(1) {
            client.allocate_buffer(CONFIG).unwrap();
        }
    },
    |client, _| {
        client.start().unwrap();
        let state = client.get_buffer_state(BUFFER);
        assert_eq!(state.unwrap_err().status(), Some(Status::BadState));
    },
    |client, _| client.stop().unwrap(),
    |client, _| assert!(!client.trace_data(BUFFER).unwrap().packets.is_empty()),
];

#[test]
#[ignore = "a process of another test"]
fn client_process() {
    let (Some(path), Some(arguments)) = (argument(SOCKET), argument(ARGUMENT)) else { return };
    let arguments = arguments.to_str().unwrap();
    let (steps, thread) = arguments.split_once(' ').unwrap();
    let (steps, thread): (usize, _) = (steps.parse().unwrap(), thread.parse().unwrap());
    let client = Client::connect(&path).unwrap();
    let all: &[Step] = if thread == 0 { &CPU_STEPS } else { &STEPS };
    for step in &all[..steps] {
        step(&client, ThreadKoid(thread));
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// A service in a process of its own, without a client.
struct Idle {
    folder: tempfile::TempDir,
    service: Helper,
    before: Held,
    /// The memory in use after each of the first clients.
    bytes: Vec<usize>,
}

impl Idle {
    fn start(engine: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let service = Helper::start("service_process", &path, engine);
        wait_until(|| Client::connect(&path).is_ok_and(|client| client.close().is_ok()));
        // The service closes its copies of a client's sockets soon after they are sent.
        wait_until(|| service.held().sockets == IDLE_SOCKETS && service.held().threads <= 3);
        let before = service.held();
        assert_eq!((before.chunks, before.mappings, before.events), (0, 0, 0));
        Self { folder, service, before, bytes: Vec::new() }
    }

    /// Starts a client that makes so many steps.
    fn client(&self, steps: usize, thread: ThreadKoid) -> Helper {
        let arguments = format!("{steps} {}", thread.0);
        let path = self.folder.path().join("socket");
        let mut client = Helper::start("killed::client_process", &path, &arguments);
        client.wait_for("ready");
        client
    }

    /// Waits until a client has left nothing.
    fn wait(&mut self) {
        let Self { service, before, bytes, .. } = self;
        wait_until(|| service.held() == *before);
        if bytes.len() < FIRST_CLIENTS {
            return bytes.push(service.ask("bytes"));
        }
        let most = bytes.iter().max().unwrap() + KEPT_BYTES;
        wait_until(|| service.ask("bytes") <= most);
    }
}

with_each_engine!(everything_is_released_when_a_client_is_killed);

fn everything_is_released_when_a_client_is_killed(engine: Engine) {
    let mut idle = Idle::start(&format!("{engine:?}"));
    // The second time, all memory is that of clients.
    for steps in [STARTED, STARTED].into_iter().chain(0..=STEPS.len()) {
        let mut target = Target::start();
        let code = target.code();
        let client = idle.client(steps, target.thread());
        assert_eq!(target.is_traced(), steps == STARTED);
        let chunks = if steps >= 2 { 16 } else { 0 };
        // Handles are closed soon after they are sent.
        wait_until(|| idle.service.held().chunks == chunks);
        assert_eq!(idle.service.held().mappings, chunks);
        target.write_lines(10);
        drop(client);
        wait_until(|| !target.is_traced());
        idle.wait();
        assert!(target.code() == code, "no breakpoint is left");
        target.finish();
    }
}

#[test]
fn everything_is_released_when_a_client_that_traces_cpus_is_killed() {
    if let Err(error) = SideEvents::open(&[EventTarget::Cpu], clock::ticks) {
        return lacks(&format!("events of all CPUs: {error}"));
    }
    if online().len() > MAX_TRACES.into() {
        return eprintln!("skipped: there are more than {MAX_TRACES} CPUs");
    }
    let mut idle = Idle::start("Cpu");
    for steps in [STARTED, STARTED].into_iter().chain(0..=CPU_STEPS.len()) {
        let client = idle.client(steps, ThreadKoid(0));
        let buffers = [0, 0, 1].get(steps).copied().unwrap_or(online().len());
        wait_until(|| idle.service.held().chunks == 16 * buffers);
        let held = idle.service.held();
        assert_eq!(held.mappings, 16 * buffers);
        assert_eq!(held.events > 0, steps == STARTED, "{steps} steps: {held:?}");
        drop(client);
        idle.wait();
    }
}
