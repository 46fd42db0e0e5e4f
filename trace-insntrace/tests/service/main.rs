//! The service: its client, random calls, kills, wrong messages, other users, limits.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod blocks;
mod control_bits;
mod hostile;
mod killed;
#[path = "../common/live.rs"]
mod live;
#[path = "../common/model.rs"]
mod model;
#[path = "../common/panicking.rs"]
mod panicking;
mod panics;
mod processes;
#[path = "../common/random.rs"]
mod random;
mod random_calls;
#[path = "../common/replayed.rs"]
mod replayed;
#[path = "../common/required.rs"]
mod required;
#[path = "../common/stepped.rs"]
mod stepped;
#[path = "../common/sysfs.rs"]
mod sysfs;
#[path = "../common/target.rs"]
mod target;
mod traced;

use std::path::PathBuf;
use std::thread::JoinHandle;

use replayed::Replayed;
use tempfile::TempDir;
use trace_insntrace::controller::{ctl, Allocation, BufferConfig, BufferDescriptor, Mode, Status};
use trace_insntrace::service::{
    Client, Ender, Error, HardwareBackend, Lifetime, Service, Settings,
};
use trace_insntrace::step::Engine;

const BUFFER: BufferDescriptor = BufferDescriptor(0);

const THREADS: Allocation = Allocation { mode: Mode::Thread, num_traces: 4 };

const CONFIG: BufferConfig = BufferConfig {
    num_chunks: 16,
    chunk_order: 2,
    is_circular: false,
    ctl: ctl::DEFAULT,
    address_space_match: 0,
    address_ranges: [(0, 0); 2],
};

/// Makes tests of functions, with the step and with the block engine.
macro_rules! with_each_engine {
    ($($test:ident),* $(,)?) => {
        mod by_steps {
            $(#[test] fn $test() { super::$test(trace_insntrace::step::Engine::Step); })*
        }
        mod by_blocks {
            $(#[test] fn $test() { super::$test(trace_insntrace::step::Engine::Block); })*
        }
    };
}
pub(crate) use with_each_engine;

/// A service in a thread of this process.
struct Running {
    folder: TempDir,
    ender: Ender,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn new(lifetime: Lifetime, settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::bind(&folder.path().join("socket"), lifetime, settings).unwrap();
        let ender = service.ender();
        let thread = Some(std::thread::spawn(|| service.run().unwrap()));
        Self { folder, ender, thread }
    }

    fn start() -> Self {
        Self::new(Lifetime::Connection, Settings::default())
    }

    fn with(engine: Engine) -> Self {
        Self::new(Lifetime::Connection, Settings { engine, ..Settings::default() })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn connect(&self) -> Client {
        Client::connect(&self.path()).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ender.end();
        let thread = self.thread.take().unwrap();
        if !std::thread::panicking() {
            target::wait_until(|| thread.is_finished());
        }
        let ended = thread.join();
        assert!(std::thread::panicking() || ended.is_ok());
    }
}

#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T, Error>, status: Status) {
    assert_eq!(result.unwrap_err().status(), Some(status));
}

#[test]
fn calls_return_the_results_and_errors_of_the_controller() {
    let service = Running::start();
    let client = service.connect();
    assert_eq!(client.get_allocation().unwrap(), None);
    client.stop().unwrap();
    fails(client.start(), Status::BadState);
    fails(client.allocate_buffer(CONFIG), Status::BadState);
    let cpus = Allocation { mode: Mode::Cpu, num_traces: 1 };
    fails(client.initialize(cpus), Status::NotSupported);
    client.initialize(THREADS).unwrap();
    fails(client.initialize(THREADS), Status::BadState);
    assert_eq!(client.get_allocation().unwrap(), Some(THREADS));
    fails(client.get_buffer_config(BUFFER), Status::InvalidArgs);
    fails(client.get_chunk_handle(BUFFER, 0), Status::InvalidArgs);
    let match_space = BufferConfig { address_space_match: 0x1000, ..CONFIG };
    fails(client.allocate_buffer(match_space), Status::NotSupported);
    let cycles = BufferConfig { ctl: ctl::CycleEnable::make(1), ..CONFIG };
    fails(client.allocate_buffer(cycles), Status::InvalidArgs);
    assert_eq!(client.allocate_buffer(CONFIG).unwrap(), BUFFER);
    assert_eq!(client.get_buffer_config(BUFFER).unwrap(), CONFIG);
    assert_eq!(client.get_buffer_state(BUFFER).unwrap().capture_end, 0);
    assert_eq!(client.get_chunk_handle(BUFFER, 15).unwrap().metadata().unwrap().len(), 16384);
    fails(client.get_chunk_handle(BUFFER, 16), Status::InvalidArgs);
    assert!(client.trace_data(BUFFER).unwrap().packets.is_empty());
    client.free_buffer(BUFFER).unwrap();
    client.terminate().unwrap();
    client.terminate().unwrap();
    assert_eq!(client.get_allocation().unwrap(), None);
}

#[test]
fn there_is_one_client_at_a_time() {
    let service = Running::start();
    let client = service.connect();
    client.initialize(THREADS).unwrap();
    fails(Client::connect(&service.path()), Status::AlreadyBound);
    client.close().unwrap();
    let next = service.connect();
    assert_eq!(next.get_allocation().unwrap(), None);
}

#[test]
fn a_trace_can_outlive_its_connections() {
    let service = Running::new(Lifetime::Service, Settings::default());
    let client = service.connect();
    client.initialize(THREADS).unwrap();
    drop(client);
    let (one, other) = (service.connect(), service.connect());
    assert_eq!(one.get_allocation().unwrap(), Some(THREADS));
    one.close().unwrap();
    assert!(matches!(other.get_allocation(), Err(Error::Io(_)) | Ok(None)));
    target::wait_until(|| Client::connect(&service.path()).is_err());
}

#[test]
fn buffers_exceed_no_limit() {
    let settings = Settings { bytes: 3 << 20, ..Settings::default() };
    let service = Running::new(Lifetime::Connection, settings);
    let client = service.connect();
    client.initialize(THREADS).unwrap();
    let config = BufferConfig { num_chunks: 1, chunk_order: 8, ..CONFIG };
    for _ in 0..3 {
        client.allocate_buffer(config).unwrap();
    }
    fails(client.allocate_buffer(config), Status::NoMemory);
    client.free_buffer(BUFFER).unwrap();
    assert_eq!(client.allocate_buffer(config).unwrap(), BUFFER);
}

/// A service by blocks, by steps, or of CPUs, which answers how many bytes it uses.
#[test]
#[ignore = "a process of other tests"]
fn service_process() {
    let Some(path) = processes::argument(processes::SOCKET) else { return };
    let argument = processes::argument(processes::ARGUMENT).unwrap_or_default();
    std::thread::spawn(|| {
        for question in std::io::stdin().lines() {
            let question = question.unwrap();
            println!("{question} {}", live::bytes() - question.capacity());
        }
    });
    let bound = match argument.to_str() {
        Some("Cpu") => {
            let pmu = sysfs::Sysfs::new().read().unwrap();
            let backend = HardwareBackend::with_areas(pmu, 1 << 30, |settings, _, _| {
                Replayed::new(vec![7; 10_000], settings.overwrites)
            });
            Service::bind_backend(&path, Lifetime::Connection, backend)
        }
        name => {
            let is_block = name == Some("Block");
            let engine = if is_block { Engine::Block } else { Engine::Step };
            let settings = Settings { engine, ..Settings::default() };
            Service::bind(&path, Lifetime::Connection, settings)
        }
    };
    bound.unwrap().run().unwrap();
}
