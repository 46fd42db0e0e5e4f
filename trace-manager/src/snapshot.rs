//! Snapshots: archives of all records so far of a running session.
//!
//! ```text
//!  event loop                                      snapshot thread
//!  ----------                                      ---------------
//!  length of the session's archive  -------------> waits until it is written, copies it with its
//!                                                  earlier parts, if it is cut
//!  for each provider in the session, in a turn of its own, or before its next save:
//!    a copy of its buffer's uncollected contents -> records, as at its end
//!    its collector's state, cloned
//! ```
//!
//! The session's own archive and collectors are not changed, so neither the guard nor the providers
//! are involved.

mod names;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender};
use trace_protocol::words::as_bytes;
use trace_protocol::{free_spare_pages, prepare_spare_pages};

pub(crate) use names::SnapshotNames;

use crate::archive::{lower_priority, Prefix};
use crate::category_filter::CategoryFilter;
use crate::collection::Extract;
use crate::error::ManagerError;
use crate::notice::{Notice, NoticeSender};
use crate::output::ArchiveOutput;
use crate::records::Words;
use crate::snapshot_rotation::KeepLimits;
use crate::summary::SnapshotSummary;
use crate::trigger::Cause;
use crate::waker::Waker;

/// A snapshot to write.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) path: PathBuf,
    pub(crate) requester: Requester,
    /// Its contents, or the error.
    pub(crate) contents: Result<Contents, ManagerError>,
}

/// The contents of a snapshot.
#[derive(Debug)]
pub(crate) struct Contents {
    /// The archive so far. `None` if it has failed: the late records begin with the magic number
    /// record.
    pub(crate) prefix: Option<Prefix>,
    /// The rate of the CPU's counter, in ticks per second.
    pub(crate) rate: u64,
    /// Records of departed providers that are not in the prefix.
    pub(crate) late_records: Vec<Words>,
    pub(crate) extracts: Vec<Extract>,
    /// The filters of the session and of its archive, for the extracts; `None` for all records.
    pub(crate) filters: [Option<CategoryFilter>; 2],
}

/// The requester of a snapshot.
#[derive(Debug)]
pub(crate) enum Requester {
    /// The triggers of these causes, or the caller, who does not wait.
    Triggers(Vec<Cause>),
    /// The caller, who waits for the size in bytes.
    Caller(Sender<Result<u64, ManagerError>>),
}

/// The loop's end of the snapshot thread.
#[derive(Debug)]
pub(crate) struct Snapshots {
    jobs: Sender<Snapshot>,
    /// One item for each finished snapshot of triggers.
    finished: Receiver<()>,
    thread: JoinHandle<WrittenSnapshots>,
}

/// The snapshot thread after its last snapshot was queued.
#[derive(Debug)]
pub(crate) struct FinishingSnapshots(JoinHandle<WrittenSnapshots>);

/// The snapshots of triggers.
#[derive(Debug, Default)]
pub(crate) struct WrittenSnapshots {
    pub(crate) summaries: Vec<SnapshotSummary>,
    /// The number of snapshots that were removed because of the limits.
    pub(crate) removed: u64,
}

impl Snapshots {
    /// Starts the thread. When a snapshot is finished, it wakes the loop and notifies the caller.
    /// `copied` is the size in bytes of a copy for which memory is prepared; 0 for none.
    pub(crate) fn spawn(
        waker: Waker,
        notices: NoticeSender,
        limits: KeepLimits,
        copied: usize,
    ) -> io::Result<Self> {
        let (jobs, to_do) = crossbeam_channel::unbounded();
        let (done, finished) = crossbeam_channel::unbounded();
        let builder = thread::Builder::new().name("trace-snapshot".to_owned());
        let thread = builder.spawn(move || {
            lower_priority();
            let _prepared = prepare_spare_pages(copied);
            work(&to_do, &done, &waker, &notices, &limits)
        })?;
        Ok(Self { jobs, finished, thread })
    }

    /// Starts to write a snapshot.
    pub(crate) fn write(&self, snapshot: Snapshot) {
        // Fails only if the thread has panicked.
        let _ = self.jobs.send(snapshot);
    }

    /// Returns whether another snapshot of triggers is finished.
    pub(crate) fn take_finished(&self) -> bool {
        self.finished.try_recv().is_ok()
    }

    /// Closes the queue.
    pub(crate) fn finish(self) -> FinishingSnapshots {
        FinishingSnapshots(self.thread)
    }
}

impl FinishingSnapshots {
    /// Waits until all snapshots are written. Returns those of triggers.
    pub(crate) fn join(self) -> WrittenSnapshots {
        self.0.join().unwrap_or_default()
    }
}

fn work(
    to_do: &Receiver<Snapshot>,
    done: &Sender<()>,
    waker: &Waker,
    notices: &NoticeSender,
    limits: &KeepLimits,
) -> WrittenSnapshots {
    let mut all = WrittenSnapshots::default();
    for Snapshot { path, requester, contents } in to_do {
        let failed = |source| ManagerError::Snapshot { path: path.clone(), source };
        let written = contents.and_then(|contents| write(&path, contents).map_err(failed));
        match requester {
            // Fails if the caller no longer waits.
            Requester::Caller(reply) => drop(reply.send(written)),
            Requester::Triggers(causes) => {
                let summary = SnapshotSummary { path, causes, archive: written };
                notices.send(Notice::of_snapshot(&summary));
                all.summaries.push(summary);
                all.removed += limits.enforce(&mut all.summaries);
                // Fails if the session has ended.
                let _ = done.send(());
                waker.wake();
            }
        }
    }
    // Copies of further snapshots of this session would have used it.
    free_spare_pages();
    all
}

/// Writes a snapshot. Returns its size in bytes. If it fails, the file is removed.
fn write(path: &Path, contents: Contents) -> io::Result<u64> {
    let output = ArchiveOutput::create_file(path)?;
    match write_to(&output, contents) {
        Ok(bytes) => output.complete().map(|()| bytes),
        Err(error) => {
            output.discard();
            Err(error)
        }
    }
}

fn write_to(output: &ArchiveOutput, contents: Contents) -> io::Result<u64> {
    let Contents { prefix, rate, late_records, extracts, mut filters } = contents;
    let mut length = match &prefix {
        Some(prefix) => prefix.copy_to(output, rate)?,
        None => 0,
    };
    // It keeps the parts of the archive.
    drop(prefix);
    let mut write = |words: &[u64]| {
        length += words.len() as u64 * 8;
        output.file().write_all(as_bytes(words))
    };
    late_records.into_iter().try_for_each(|words| write(&words))?;
    let mut rest = extracts.into_iter().map(|extract| extract.into_words(&mut filters));
    rest.try_for_each(|words| write(&words))?;
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::archive::{ArchiveWriter, Block, BlockInfo};
    use crate::records::Spares;

    fn shared(words: &[u64]) -> Words {
        Spares::default().share(words.to_vec())
    }

    fn archive(path: &Path) -> ArchiveWriter {
        let output = ArchiveOutput::create_file(path).unwrap();
        let mut writer = ArchiveWriter::spawn(output, None, Arc::default()).unwrap();
        let info = BlockInfo { rate: Some(1), ..BlockInfo::default() };
        writer.push(Block { words: shared(&[1, 2, 3]), start: 0, info });
        writer
    }

    fn contents(prefix: Prefix) -> Contents {
        let late_records = vec![shared(&[4]), shared(&[5, 6])];
        let prefix = Some(prefix);
        Contents { prefix, rate: 77, late_records, extracts: Vec::new(), filters: [None, None] }
    }

    /// The session's archive continues, and has its own rate.
    #[test]
    fn a_snapshot_has_the_prefix_and_the_late_records() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("snapshot.fxt");
        let mut writer = archive(&directory.path().join("a.fxt"));
        let contents = contents(writer.prefix().unwrap());
        writer.push(Block { words: shared(&[9]), start: 0, info: BlockInfo::default() });
        assert_eq!(write(&path, contents).unwrap(), 48);
        let words: Vec<u64> = [1, 77, 3, 4, 5, 6].into();
        assert_eq!(fs::read(&path).unwrap(), as_bytes(&words));
        writer.finish(8).join().unwrap();
        let words: Vec<u64> = [1, 8, 3, 9].into();
        assert_eq!(fs::read(directory.path().join("a.fxt")).unwrap(), as_bytes(&words));
    }

    /// Another user may have created the partial name as a link before.
    #[test]
    fn a_link_that_is_planted_beside_a_snapshot_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("precious"), "precious").unwrap();
        for target in ["precious", "nothing"] {
            std::os::unix::fs::symlink(target, path(".snapshot.fxt.partial")).unwrap();
            let writer = archive(&path("a.fxt"));
            write(&path("snapshot.fxt"), contents(writer.prefix().unwrap())).unwrap();
            writer.finish(1).join().unwrap();
            assert_eq!(fs::read(path("snapshot.fxt")).unwrap().len(), 48);
            assert_eq!(fs::read_to_string(path("precious")).unwrap(), "precious");
            assert!(!path("nothing").exists());
            fs::remove_file(path(".snapshot.fxt.partial")).unwrap();
        }
    }

    /// Records that the archive lacks cannot be copied from it.
    #[test]
    fn a_snapshot_of_an_archive_that_ended_early_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("snapshot.fxt");
        let writer = archive(&directory.path().join("a.fxt"));
        let mut contents = contents(writer.prefix().unwrap());
        writer.finish(1).join().unwrap();
        contents.prefix.as_mut().unwrap().bytes += 8;
        let error = write(&path, contents).unwrap_err();
        assert!(error.to_string().contains("ended early"), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "only the archive");
    }
}
