//! Snapshots on request.
//!
//! The manager writes the snapshot to the scratch folder. It is then copied to the output of the
//! controller, which may be slow or full.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use rustix::event::{poll, PollFd, PollFlags};
use trace_protocol::control::{ControlError, GeneralError};
use trace_protocol::file::random_name;

use super::machine::{SnapshotJob, Ticket};
use super::output::OpenOutput;
use super::shared::{Message, Shared};
use crate::manager::SessionHandle;

/// Bytes that are copied at a time.
const BLOCK: usize = 256 << 10;

/// Writes a snapshot on a thread of its own. The result is a message to the control thread.
pub(super) fn spawn(
    shared: &Arc<Shared>,
    handle: Arc<SessionHandle>,
    ticket: Ticket,
    job: SnapshotJob,
) {
    let thread_shared = Arc::clone(shared);
    let builder = thread::Builder::new().name("trace-snapshot".to_owned());
    let spawned = builder.spawn(move || {
        let result = take(&handle, job, &thread_shared.scratch);
        // A copy of the handle would delay the end of the session.
        drop(handle);
        thread_shared.send(Message::SnapshotWritten(ticket, result));
    });
    if let Err(error) = spawned {
        let error = ControlError::general(GeneralError::Failed, error.to_string());
        shared.send(Message::SnapshotWritten(ticket, Err(error)));
    }
}

fn take(handle: &SessionHandle, job: SnapshotJob, scratch: &Path) -> Result<u64, ControlError> {
    let failed = |error: io::Error| ControlError::general(GeneralError::Output, error.to_string());
    // Opened first, so that a wrong output costs nothing.
    let output = OpenOutput::open(&job.output, job.descriptor, job.peer).map_err(failed)?;
    let path = scratch.join(random_name("snapshot-".as_ref(), ".fxt"));
    let taken = handle.snapshot(&path);
    let opened = File::open(&path);
    // Fails if there is no snapshot.
    let _ = fs::remove_file(&path);
    taken.map_err(|error| ControlError::general(GeneralError::Failed, error.to_string()))?;
    opened.and_then(|file| write(file, output)).map_err(failed)
}

/// Returns the number of bytes.
fn write(mut snapshot: File, output: OpenOutput) -> io::Result<u64> {
    match output {
        OpenOutput::Stream(descriptor) => copy(&mut snapshot, &mut File::from(descriptor)),
        OpenOutput::New(file) => {
            let bytes = copy(&mut snapshot, &mut &**file.file())?;
            file.complete()?;
            Ok(bytes)
        }
    }
}

/// Copies a file, also to an output that does not block. Returns the number of bytes.
pub(super) fn copy(from: &mut File, to: &mut (impl Write + AsFd)) -> io::Result<u64> {
    let (mut block, mut bytes) = (vec![0; BLOCK], 0);
    loop {
        let count = match from.read(&mut block) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        write_all(to, block.get(..count).unwrap_or_default())?;
        bytes += count as u64;
    }
}

fn write_all(to: &mut (impl Write + AsFd), mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match to.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(to, PollFlags::OUT)], -1)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Seek;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_copy_waits_for_an_output_that_does_not_block() {
        let mut from = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..3 * BLOCK + 5).map(|number| number as u8).collect();
        from.write_all(&content).unwrap();
        from.rewind().unwrap();
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let reader = thread::spawn(move || {
            let mut read = Vec::new();
            theirs.read_to_end(&mut read).map(|_| read)
        });
        assert_eq!(copy(&mut from, &mut ours).unwrap(), content.len() as u64);
        drop(ours);
        assert!(reader.join().unwrap().unwrap() == content);
    }
}
