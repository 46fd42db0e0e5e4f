//! Panics of the service: in a call, at the end of a connection, and in a thread that traces.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tempfile::TempDir;
use trace_insntrace::controller::Status;
use trace_insntrace::service::{Client, Error, Lifetime, Service, Settings};
use trace_insntrace::step::Engine;
use trace_protocol::clock;

use crate::panicking::{Method, Panicking};
use crate::target::{wait_until, Target};
use crate::traced::{capture_end, decode, start};
use crate::{fails, with_each_engine, Running, BUFFER, CONFIG};

with_each_engine! {
    a_call_that_panics_releases_the_thread_and_ends_the_service,
    a_connection_whose_end_panics_releases_the_thread_and_ends_the_service,
    a_thread_is_released_if_its_tracing_panics,
}

/// A service that ends with an error.
struct Failing {
    folder: TempDir,
    thread: JoinHandle<std::io::Result<()>>,
}

impl Failing {
    fn start(engine: Engine, lifetime: Lifetime, method: Method) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let backend = Panicking::new(engine, method);
        let path = folder.path().join("socket");
        let service = Service::bind_backend(&path, lifetime, backend).unwrap();
        Self { folder, thread: thread::spawn(|| service.run()) }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Checks that the service ends, and that the program continues as it was.
    #[track_caller]
    fn end(self, target: Target, code: &[u8]) {
        wait_until(|| self.thread.is_finished());
        let error = self.thread.join().expect("the error is returned").unwrap_err();
        assert_eq!(error.to_string(), "a call has panicked");
        assert!(target.code() == code, "no breakpoint is left");
        target.finish();
        Client::connect(&self.folder.path().join("socket")).unwrap_err();
    }
}

#[track_caller]
fn assert_ended(error: &Error) {
    assert_eq!(error.to_string(), "the service has ended, or has closed the connection");
}

/// Makes each call while a thread is traced, where that is possible.
fn call_all(client: &Client, target: &mut Target) -> Result<(), Error> {
    client.initialize(crate::THREADS)?;
    client.allocate_buffer(CONFIG)?;
    client.assign_thread_buffer(BUFFER, target.thread())?;
    client.start()?;
    assert!(target.is_traced());
    target.write_lines(10);
    client.get_buffer_state(BUFFER)?;
    client.get_chunk_handle(BUFFER, 0)?;
    client.release_thread_buffer(BUFFER, target.thread())?;
    client.assign_thread_buffer(BUFFER, target.thread())?;
    client.stop()?;
    client.get_side_data(BUFFER)?;
    client.release_thread_buffer(BUFFER, target.thread())?;
    client.free_buffer(BUFFER)
}

fn a_call_that_panics_releases_the_thread_and_ends_the_service(engine: Engine) {
    use Method::{Allocate, Assign, Chunk, Free, Release, SideData, Start, State, Stop};
    for method in [Allocate, Free, Assign, Release, Start, Stop, State, Chunk, SideData] {
        for lifetime in [Lifetime::Connection, Lifetime::Service] {
            let service = Failing::start(engine, lifetime, method);
            let mut target = Target::start();
            let code = target.code();
            let client = Client::connect(&service.path()).unwrap();
            assert_ended(&call_all(&client, &mut target).unwrap_err());
            assert_ended(&client.get_allocation().unwrap_err());
            service.end(target, &code);
        }
    }
}

fn a_connection_whose_end_panics_releases_the_thread_and_ends_the_service(engine: Engine) {
    for method in [Method::Stop, Method::Release, Method::Free] {
        for lifetime in [Lifetime::Connection, Lifetime::Service] {
            let service = Failing::start(engine, lifetime, method);
            let mut target = Target::start();
            let code = target.code();
            let client = Client::connect(&service.path()).unwrap();
            start(&client, CONFIG, &target);
            target.write_lines(10);
            match lifetime {
                Lifetime::Connection => drop(client),
                Lifetime::Service => assert_ended(&client.close().unwrap_err()),
            }
            service.end(target, &code);
        }
    }
}

/// Whether the next reading of a clock panics, by engine.
static PANICS: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

fn panicking_clock(number: usize) -> u64 {
    assert!(!PANICS[number].swap(false, Ordering::Relaxed), "in the thread that traces");
    clock::ticks()
}

fn a_thread_is_released_if_its_tracing_panics(engine: Engine) {
    let (number, clock): (_, fn() -> u64) = match engine {
        Engine::Step => (0, || panicking_clock(0)),
        Engine::Block => (1, || panicking_clock(1)),
    };
    let settings = Settings { engine, clock, ..Settings::default() };
    let service = Running::new(Lifetime::Connection, settings);
    let (client, mut target) = (service.connect(), Target::start());
    let code = target.code();
    start(&client, CONFIG, &target);
    target.write_lines(20);
    wait_until(|| capture_end(&client) > 1000);
    PANICS[number].store(true, Ordering::Relaxed);
    target.write_lines(20);
    wait_until(|| !target.is_traced());
    assert!(target.code() == code, "no breakpoint is left");
    // It fails as soon as the thread that traced has ended.
    wait_until(|| client.get_buffer_state(BUFFER).is_err());
    fails(client.get_buffer_state(BUFFER), Status::Internal);
    client.stop().unwrap();
    fails(client.get_buffer_state(BUFFER), Status::Internal);
    // What was written before can be decoded, and tracing can be started again.
    let (ips, errors) = decode(&client.trace_data(BUFFER).unwrap());
    assert!(ips.len() > 1000 && errors == 0, "{} and {errors}", ips.len());
    client.start().unwrap();
    assert!(target.is_traced());
    let before = capture_end(&client);
    target.write_lines(20);
    wait_until(|| capture_end(&client) > before + 1000);
    client.stop().unwrap();
    // Where tracing has failed, its packets end.
    assert!(decode(&client.trace_data(BUFFER).unwrap()).1 <= 1);
    target.finish();
}
