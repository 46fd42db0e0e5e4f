//! Starting a program under trace.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use rustix::process::{kill_process, Pid, Signal};

use super::ptrace::{self, Follow, Tid};

/// How often the start is checked for an error.
const CHECK: Duration = Duration::from_millis(20);

/// Starts `command`, traced by the calling thread. The process stops when it has executed the
/// program.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    spawn_held(command, |tid| ptrace::seize(tid, Follow::CreatedAndKill))
}

/// Starts `command`, and calls `prepare` before the new process executes the program. The program
/// is not executed if that fails.
///
/// `Command::spawn` may return later, so that it runs on a thread of its own.
pub(super) fn spawn_held(
    command: &mut Command,
    prepare: impl FnOnce(Tid) -> io::Result<()>,
) -> io::Result<Child> {
    let (ours, theirs) = UnixStream::pair()?;
    ptrace::hold(command, theirs.into());
    thread::scope(|scope| {
        let spawning = scope.spawn(|| command.spawn());
        let prepared = prepare_held(ours, &spawning, prepare);
        let mut child = spawning.join().unwrap_or_else(|_| Err(ErrorKind::Other.into()))?;
        if prepared.is_err() {
            // The process was killed.
            child.wait()?;
        }
        prepared.map(|()| child)
    })
}

/// Prepares the process that waits at the other end of `ours`, or kills it.
fn prepare_held(
    mut ours: UnixStream,
    spawning: &ScopedJoinHandle<'_, io::Result<Child>>,
    prepare: impl FnOnce(Tid) -> io::Result<()>,
) -> io::Result<()> {
    let tid = wait_for_id(&mut ours, spawning)?;
    let prepared = prepare(tid).and_then(|()| ours.write_all(&[0]));
    if let (Err(_), Some(pid)) = (&prepared, Pid::from_raw(tid.0)) {
        kill_process(pid, Signal::Kill)?;
    }
    prepared
}

/// Reads the id of the process. Fails if it could not be started.
fn wait_for_id(
    ours: &mut UnixStream,
    spawning: &ScopedJoinHandle<'_, io::Result<Child>>,
) -> io::Result<Tid> {
    ours.set_read_timeout(Some(CHECK))?;
    let mut id = [0; 4];
    loop {
        match ours.read_exact(&mut id) {
            Ok(()) => return Ok(Tid(i32::from_ne_bytes(id))),
            Err(error) if error.kind() == ErrorKind::WouldBlock && !spawning.is_finished() => {}
            Err(error) => return Err(error),
        }
    }
}
