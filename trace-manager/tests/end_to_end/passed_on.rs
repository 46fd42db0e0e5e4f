//! Programs that pass their buffers on to other processes, and end.

use super::provider::Provider;
use super::*;

use std::fs::File;

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use trace_manager::{Bound, Limits};
use trace_protocol::socket::{Listener, Socket};

/// Where the program finds the directory with the manager's socket and this test's.
const DIRECTORY: &str = "TRACE_TEST_DIRECTORY";

/// The size of a buffer.
const SIZE: u64 = 900 << 10;

const MANAGER: &str = "manager.sock";
const HOLDER: &str = "holder.sock";

/// A manager whose providers may have one buffer in all, and a process that others pass theirs to.
fn stage() -> (Stage, Listener) {
    let directory = tempfile::tempdir().unwrap();
    let size = 1 << 20;
    let buffers = Some(Bound { process: size, user: size, total: size });
    let limits = Limits { buffers, ..Limits::default() };
    let manager = Manager::bind_with(&directory.path().join(MANAGER), limits).unwrap();
    let holder = Listener::bind(&directory.path().join(HOLDER)).unwrap();
    (Stage { manager, directory }, holder)
}

/// Runs a program that gets a buffer, passes it on, and ends. Returns the buffer.
fn pass_on(stage: &Stage, holder: &Listener) -> File {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--ignored", "--exact", "passed_on::program"]);
    program.env(DIRECTORY, stage.directory.path());
    let mut program = program.spawn().unwrap();
    let mut buffers: Vec<OwnedFd> = Vec::new();
    let connection = holder.accept().unwrap();
    assert_eq!(connection.recv_with_fds(&mut [0], &mut buffers).unwrap(), 1, "it has a buffer");
    drop(connection);
    assert!(program.wait().unwrap().success());
    File::from(buffers.remove(0))
}

/// Bytes of memory that a file has.
fn memory(file: &File) -> u64 {
    file.metadata().unwrap().blocks() * 512
}

/// Not a test: a program that passes its buffer on.
#[test]
#[ignore = "the program that the tests run"]
fn program() {
    let directory = std::env::var_os(DIRECTORY).unwrap();
    let directory = Path::new(&directory);
    let (mut provider, _) = Provider::register(&directory.join(MANAGER), "passes it on");
    let session = provider.enter();
    session.fill(0, 0);
    let holder = Socket::connect(&directory.join(HOLDER)).unwrap();
    holder.send(b"x", &[session.memory.as_fd()]).unwrap();
    assert_eq!(holder.recv(&mut [0]).unwrap(), 0);
}

/// The next program gets a buffer only when the memory of the last one is free, whoever holds it.
#[test]
fn a_buffer_that_is_held_after_its_program_takes_no_memory() {
    let (stage, holder) = stage();
    let session =
        stage.start(SessionConfig { buffer_size: SIZE, ..impatient(BufferingMode::Oneshot) });
    let mut held: Vec<File> = Vec::new();
    for round in 0..4 {
        let buffer = pass_on(&stage, &holder);
        let sizes: Vec<u64> = held.iter().map(memory).collect();
        assert_eq!(sizes, vec![0; round], "buffers of programs that have ended");
        held.push(buffer);
    }
    let summary = end(&session);
    assert_eq!(summary.providers.len(), 4);
    assert!(summary.providers.iter().all(|provider| provider.events != 0), "{summary:?}");
    assert_eq!(held.iter().map(memory).sum::<u64>(), 0);
}

/// What the holder of a buffer writes takes its own memory, and reaches nobody.
#[test]
fn what_is_written_to_a_buffer_after_its_program_does_no_harm() {
    let (stage, holder) = stage();
    let session =
        stage.start(SessionConfig { buffer_size: SIZE, ..impatient(BufferingMode::Oneshot) });
    let first = pass_on(&stage, &holder);
    let writes = |byte| first.write_all_at(&[byte; 64 << 10], 0).unwrap();
    writes(1);
    let _second = pass_on(&stage, &holder);
    writes(2);
    let summary = end(&session);
    let events: Vec<u64> = summary.providers.iter().map(|provider| provider.events).collect();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0], events[1]);
    assert!(summary.refused.is_empty() && summary.lost() == 0, "{summary:?}");
    assert_eq!(memory(&first), 64 << 10);
}
