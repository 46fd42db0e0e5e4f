//! Programs that pass their buffers to other processes, and end.

use super::provider::Provider;
use super::*;

use std::fs::File;

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use trace_manager::{Bound, Limits};
use trace_protocol::socket::{Listener, Socket};

/// The variable with the directory of the manager's socket and of this test's.
const DIRECTORY: &str = "TRACE_TEST_DIRECTORY";

/// The size of a buffer.
const SIZE: u64 = 900 << 10;

const MANAGER: &str = "manager.sock";
const HOLDER: &str = "holder.sock";

/// Returns a manager with memory for one buffer, and a process that receives buffers.
fn stage() -> (Stage, Listener) {
    let directory = tempfile::tempdir().unwrap();
    let size = 1 << 20;
    let buffers = Some(Bound { process: size, user: size, total: size });
    let limits = Limits { buffers, ..Limits::default() };
    let manager = Manager::bind_with(&directory.path().join(MANAGER), limits).unwrap();
    let holder = Listener::bind(&directory.path().join(HOLDER)).unwrap();
    (Stage { manager, directory }, holder)
}

/// Runs a program that joins, passes its buffer, and ends. Returns the buffer.
fn pass_on(stage: &Stage, holder: &Listener) -> File {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--ignored", "--exact", "passed_on::program"]);
    program.env(DIRECTORY, stage.directory.path());
    let mut program = program.spawn().unwrap();
    let mut buffers: Vec<OwnedFd> = Vec::new();
    let connection = holder.accept().unwrap();
    assert_eq!(
        connection.recv_with_fds(&mut [0], &mut buffers).unwrap(),
        1,
        "the message has a buffer"
    );
    drop(connection);
    assert!(program.wait().unwrap().success());
    File::from(buffers.remove(0))
}

/// Returns the bytes of memory of a file.
fn memory(file: &File) -> u64 {
    file.metadata().unwrap().blocks() * 512
}

/// Not a test: a program that passes its buffer to another process.
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

/// The next program gets a buffer only if the memory of the last one is free, even if another
/// process has it open.
#[test]
fn a_passed_buffer_takes_no_memory_after_its_program() {
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

/// Later writes to a buffer use memory of the writing process, and reach no other process.
#[test]
fn writes_to_a_buffer_after_its_program_do_no_harm() {
    let (stage, holder) = stage();
    let session =
        stage.start(SessionConfig { buffer_size: SIZE, ..impatient(BufferingMode::Oneshot) });
    let first = pass_on(&stage, &holder);
    wait_until(|| memory(&first) == 0);
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
