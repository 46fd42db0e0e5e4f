//! A client that is killed in every state.

use std::io::Write;

use trace_insntrace::controller::ThreadKoid;
use trace_insntrace::service::Client;
use trace_insntrace::step::Engine;

use crate::processes::{argument, Helper, ARGUMENT, SOCKET};
use crate::target::{wait_until, Target};
use crate::{with_each_engine, BUFFER, CONFIG, THREADS};

/// The sockets of a service without a client: the listener, and the pair that ends the service.
const IDLE_SOCKETS: usize = 3;

const STEPS: [fn(&Client, ThreadKoid); 7] = [
    |client, _| client.initialize(THREADS).unwrap(),
    |client, _| assert_eq!(client.allocate_buffer(CONFIG).unwrap(), BUFFER),
    |client, thread| client.assign_thread_buffer(BUFFER, thread).unwrap(),
    |client, _| client.start().unwrap(),
    |client, _| client.stop().unwrap(),
    |client, _| drop(client.trace_data(BUFFER).unwrap()),
    |client, thread| client.release_thread_buffer(BUFFER, thread).unwrap(),
];

#[test]
#[ignore = "a process of another test"]
fn client_process() {
    let (Some(path), Some(arguments)) = (argument(SOCKET), argument(ARGUMENT)) else { return };
    let arguments = arguments.to_str().unwrap();
    let (steps, thread) = arguments.split_once(' ').unwrap();
    let client = Client::connect(&path).unwrap();
    for step in &STEPS[..steps.parse().unwrap()] {
        step(&client, ThreadKoid(thread.parse().unwrap()));
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

with_each_engine!(everything_is_released_when_a_client_is_killed);

fn everything_is_released_when_a_client_is_killed(engine: Engine) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let service = Helper::start("service_process", &path, &format!("{engine:?}"));
    wait_until(|| Client::connect(&path).is_ok_and(|client| client.close().is_ok()));
    // The service closes its copies of a client's sockets soon after they are sent.
    wait_until(|| service.descriptors().sockets == IDLE_SOCKETS);
    let before = service.descriptors();
    assert_eq!(before.chunks, 0);
    for steps in 0..=STEPS.len() {
        let mut target = Target::start();
        let code = target.code();
        let arguments = format!("{steps} {}", target.thread().0);
        let mut client = Helper::start("killed::client_process", &path, &arguments);
        client.wait_for("ready");
        assert_eq!(target.is_traced(), steps == 4);
        // Handles are closed soon after they are sent.
        wait_until(|| service.descriptors().chunks == if steps >= 2 { 16 } else { 0 });
        target.write_lines(10);
        drop(client);
        wait_until(|| !target.is_traced() && service.descriptors() == before);
        assert!(target.code() == code, "no breakpoint is left");
        target.finish();
    }
}
