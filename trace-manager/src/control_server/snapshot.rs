//! Snapshots on request.
//!
//! The manager writes the snapshot to the scratch folder. It is then copied to the output of the
//! controller, which may be slow or full.

use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use trace_protocol::control::{ControlError, GeneralError};
use trace_protocol::file::random_name;

use super::machine::{SnapshotJob, Ticket};
use super::output::{is_deputy, OpenOutput};
use super::shared::{Message, Shared};
use crate::error::ManagerError;
use crate::manager::SessionHandle;
use crate::output::stream;

/// Bytes that are copied at a time.
const BLOCK: usize = 256 << 10;

/// Writes a snapshot on a thread of its own. The result is a message to the control thread.
pub(super) fn spawn(
    shared: &Arc<Shared>,
    handle: Arc<SessionHandle>,
    ticket: Ticket,
    job: SnapshotJob,
) {
    let (thread_shared, uid) = (Arc::clone(shared), job.peer.uid);
    let builder = thread::Builder::new().name("trace-snapshot".to_owned());
    let spawned = builder.spawn(move || {
        let result = take(&handle, job, &thread_shared);
        // A copy of the handle would delay the end of the session.
        drop(handle);
        thread_shared.send(Message::SnapshotWritten(uid, ticket, result));
    });
    if let Err(error) = spawned {
        let error = ControlError::general(GeneralError::Failed, error.to_string());
        shared.send(Message::SnapshotWritten(uid, ticket, Err(error)));
    }
}

fn take(handle: &SessionHandle, job: SnapshotJob, shared: &Shared) -> Result<u64, ControlError> {
    let failed = |error: io::Error| ControlError::general(GeneralError::Output, error.to_string());
    // Opened first, so that a wrong output costs nothing.
    let descriptor = job.descriptor.into_owned().map_err(failed)?;
    let output = OpenOutput::open(&job.output, descriptor, job.peer).map_err(failed)?;
    let (archived, limit) = (handle.progress().bytes, shared.limits.scratch);
    if is_deputy(job.peer) && archived > limit {
        let reason =
            format!("the archive has {archived} bytes, the limit of a snapshot is {limit}");
        return Err(ControlError::general(GeneralError::Quota, reason));
    }
    let path = shared.scratch.join(random_name(".snapshot-".as_ref(), ".fxt"));
    let taken = handle.snapshot(&path);
    let opened = File::open(&path);
    // Fails if there is no snapshot.
    let _ = fs::remove_file(&path);
    taken.map_err(|error| ControlError::general(GeneralError::Failed, reason(error)))?;
    opened.and_then(|file| write(file, output, shared.limits.patience)).map_err(failed)
}

/// Returns why a snapshot was not taken. The path in the scratch folder means nothing to users.
fn reason(error: ManagerError) -> String {
    match error {
        ManagerError::Snapshot { source, .. } => {
            format!("the daemon cannot copy the records: {source}")
        }
        error => error.to_string(),
    }
}

/// Returns the number of bytes.
fn write(mut snapshot: File, output: OpenOutput, patience: Duration) -> io::Result<u64> {
    match output {
        OpenOutput::Stream(descriptor) => copy(&mut snapshot, &File::from(descriptor), patience),
        OpenOutput::New(file) => {
            let bytes = copy(&mut snapshot, file.file(), patience)?;
            file.complete()?;
            Ok(bytes)
        }
    }
}

/// Copies a file. Fails if the output makes no progress for `patience`. Returns the number of
/// bytes.
pub(super) fn copy(from: &mut File, to: &File, patience: Duration) -> io::Result<u64> {
    Ok(copy_unless(from, to, patience, || false)?.unwrap_or(0))
}

/// As [`copy`], unless `is_aborted` returns true before the end: then it returns `None`.
pub(super) fn copy_unless(
    from: &mut File,
    to: &File,
    patience: Duration,
    is_aborted: impl Fn() -> bool,
) -> io::Result<Option<u64>> {
    let (mut block, mut bytes) = (vec![0; BLOCK], 0);
    loop {
        if is_aborted() {
            return Ok(None);
        }
        let count = match from.read(&mut block) {
            Ok(0) => return Ok(Some(bytes)),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        write_all(to, block.get(..count).unwrap_or_default(), patience)?;
        bytes += count as u64;
    }
}

fn write_all(to: &File, mut rest: &[u8], patience: Duration) -> io::Result<()> {
    while !rest.is_empty() {
        match stream::write_some(to, rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if !stream::wait_writable(to, patience)? {
                    return Err(stream::unread());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn an_error_does_not_name_the_scratch_folder() {
        let (path, source) = ("/run/trace/.snapshot-7.fxt".into(), io::Error::other("no space"));
        let failed = ManagerError::Snapshot { path, source };
        assert_eq!(reason(failed), "the daemon cannot copy the records: no space");
        assert_eq!(reason(ManagerError::SessionEnded), ManagerError::SessionEnded.to_string());
    }

    #[test]
    fn a_copy_fails_if_its_output_is_not_read() {
        let mut from = tempfile::tempfile().unwrap();
        from.set_len(1 << 20).unwrap();
        let (_reader, pipe) = stream::test_pipe();
        let pipe = File::from(stream::open_nonblocking(pipe).unwrap());
        let error = copy(&mut from, &pipe, Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.to_string(), "the output is not read");
    }

    #[test]
    fn a_copy_ends_when_it_is_aborted() {
        let (mut from, to) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        from.set_len(4 * BLOCK as u64).unwrap();
        let blocks = std::cell::Cell::new(0);
        let is_aborted = || blocks.replace(blocks.get() + 1) == 2;
        assert_eq!(copy_unless(&mut from, &to, PATIENCE, is_aborted).unwrap(), None);
        assert_eq!(to.metadata().unwrap().len(), 2 * BLOCK as u64);
    }

    #[test]
    fn a_copy_waits_for_an_output_that_does_not_block() {
        let mut from = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..3 * BLOCK + 5).map(|number| number as u8).collect();
        from.write_all(&content).unwrap();
        from.rewind().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let ours = File::from(OwnedFd::from(ours));
        let reader = thread::spawn(move || {
            let mut read = Vec::new();
            theirs.read_to_end(&mut read).map(|_| read)
        });
        assert_eq!(copy(&mut from, &ours, PATIENCE).unwrap(), content.len() as u64);
        drop(ours);
        assert!(reader.join().unwrap().unwrap() == content);
    }
}
