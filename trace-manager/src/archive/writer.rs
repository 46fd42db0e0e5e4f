//! The thread that writes an archive.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use trace_protocol::file::{Directory, NewFile};
use trace_protocol::words::as_bytes;

use super::prefix::Prefix;
use super::spool::{Block, BlockInfo, Cut, Spool};
use super::status::{EndOnDrop, WriterStatus};
use crate::error::{ArchiveError, ManagerError};
use crate::ledger::GuardHandle;
use crate::output::{
    stream, ArchiveOutput, BlockRole, CompletedParts, PartBegin, PartFile, PartPlaces, WrittenPart,
    MAGIC,
};
use crate::records::Words;

/// Bytes that wait in memory for the writer. Blocks beyond them go to a file.
pub(crate) const MEMORY_LIMIT: usize = 256 << 20;

/// How often the limits of an output are checked while it accepts no bytes, and how often a write
/// to a full disk is tried.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The session's end of the writer thread.
#[derive(Debug)]
pub(crate) struct ArchiveWriter {
    spool: Arc<Spool>,
    status: Arc<WriterStatus>,
    rate: Arc<AtomicU64>,
    thread: JoinHandle<Result<u64, ArchiveError>>,
    lost: bool,
    /// The file of the present part. `None` if it cannot be read again.
    readable: Option<PartFile>,
    /// The earlier parts.
    parts: CompletedParts,
    /// Bytes pushed.
    pushed: u64,
    /// Bytes pushed before the present part.
    part_start: u64,
    /// Bytes at the begin of the present part that repeat what earlier parts have.
    repeated: u64,
    /// The most bytes of the archive.
    max_size: u64,
    /// Offsets in bytes, in the present part, of the words with the counter's rate.
    rates: Vec<u64>,
}

/// An archive whose last block is queued.
#[derive(Debug)]
pub(crate) struct Finished {
    thread: JoinHandle<Result<u64, ArchiveError>>,
}

impl ArchiveWriter {
    /// Starts the thread that writes to `output` and keeps the guard's ledger, if there is a guard.
    ///
    /// If `discarded` is set when the last block is written, the archive is removed.
    pub(crate) fn spawn(
        output: ArchiveOutput,
        guard: Option<GuardHandle>,
        discarded: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let spool = match output.bounds() {
            Some(bounds) => Spool::bounded(bounds.unwritten),
            None => Spool::new(MEMORY_LIMIT, output.directory()),
        };
        Self::spawn_with(spool, output, guard, discarded)
    }

    fn spawn_with(
        spool: Spool,
        output: ArchiveOutput,
        guard: Option<GuardHandle>,
        discarded: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let spool = Arc::new(spool);
        let status = Arc::new(WriterStatus::default());
        let ended = EndOnDrop(Arc::clone(&status));
        let begin = output.readable().map(PartBegin::of_file);
        let readable = begin.map(|begin| PartFile::new(begin.into()));
        let max_size = output.bounds().map_or(u64::MAX, |bounds| bounds.size);
        let (rate, parts) = (Arc::new(AtomicU64::new(0)), output.parts());
        let writing = WriterThread {
            spool: Arc::clone(&spool),
            status: Arc::clone(&status),
            rate: Arc::clone(&rate),
            output,
            guard,
            places: PartPlaces::default(),
            bytes: 0,
            part_start: 0,
            failed_part: None,
            discarded,
        };
        let builder = thread::Builder::new().name("trace-archive".to_owned());
        let thread = builder.spawn(move || {
            let _over = ended;
            lower_priority();
            writing.run()
        })?;
        Ok(Self {
            spool,
            status,
            rate,
            thread,
            lost: false,
            readable,
            parts,
            pushed: 0,
            part_start: 0,
            repeated: 0,
            max_size,
            rates: Vec::new(),
        })
    }

    /// Returns the queue of blocks.
    pub(super) fn spool(&self) -> Arc<Spool> {
        Arc::clone(&self.spool)
    }

    /// Returns the state of the writer thread.
    pub(crate) fn status(&self) -> Arc<WriterStatus> {
        Arc::clone(&self.status)
    }

    /// Adds complete records to the archive. Never waits for its reader.
    pub(crate) fn push(&mut self, block: Block) {
        if block.bytes().is_empty() && block.info.update.is_none() {
            return;
        }
        if self.lost {
            return self.status.count_unwritten(block.info.role, block.bytes());
        }
        let part_bytes = self.part_bytes();
        self.rates.extend(block.info.rate.map(|index| part_bytes + index as u64 * 8));
        let size = block.bytes().len() as u64;
        self.pushed += size;
        self.repeated += if block.info.role == BlockRole::Repeats { size } else { 0 };
        let (words, start, role) = (block.words.clone(), block.start, block.info.role);
        let pushed = match self.pushed <= self.max_size {
            true => self.spool.push(block),
            false => Err(io::Error::other(format!("it has more than {} bytes", self.max_size))),
        };
        if let Err(error) = pushed {
            // Later blocks would follow a gap that readers cannot see.
            self.status.lose(error);
            let bytes = as_bytes(words.get(start..).unwrap_or_default());
            self.status.count_unwritten(role, bytes);
            self.lost = true;
        }
    }

    /// Begins the next part with `words`. `rate` is that of the CPU's counter, in ticks per second.
    pub(super) fn cut(&mut self, words: Words, rate: u64) {
        let next = PartFile::default();
        self.readable = Some(Arc::clone(&next));
        self.part_start = self.pushed;
        self.rates.clear();
        self.repeated = 0;
        let (cut, role) = (Some(Cut { rate, next }), BlockRole::Repeats);
        let info = BlockInfo { cut, role, ..BlockInfo::default() };
        self.push(Block { words, start: 0, info });
    }

    /// Returns the paths of the parts that got their names since the last call.
    pub(super) fn take_new_parts(&self) -> Vec<PathBuf> {
        self.parts.take_new()
    }

    /// Returns the size of the present part in bytes. Some of them may not be written yet.
    pub(crate) fn part_bytes(&self) -> u64 {
        self.pushed - self.part_start
    }

    /// Returns the part of the archive that exists now.
    ///
    /// # Errors
    ///
    /// [`ManagerError::SnapshotOfStream`] if the archive cannot be read again.
    pub(crate) fn prefix(&self) -> Result<Prefix, ManagerError> {
        let archive = self.readable.clone().ok_or(ManagerError::SnapshotOfStream)?;
        let (start, bytes, rates) = (self.part_start, self.part_bytes(), self.rates.clone());
        let (repeated, parts) = (self.repeated, self.parts.read());
        Ok(Prefix { archive, start, bytes, rates, repeated, status: self.status(), parts })
    }

    /// Closes the queue. `rate` is that of the CPU's counter, in ticks per second.
    pub(crate) fn finish(self, rate: u64) -> Finished {
        // The writer reads it after it has taken the spool's lock, which close() releases.
        self.rate.store(rate, Ordering::Relaxed);
        self.spool.close();
        Finished { thread: self.thread }
    }
}

impl Finished {
    /// Waits until the archive is written. Returns its size in bytes.
    pub(crate) fn join(self) -> Result<u64, ArchiveError> {
        let panicked = |_| {
            let source = io::Error::other("the archive's writer panicked");
            Err(ArchiveError::new(source, 0, None))
        };
        self.thread.join().unwrap_or_else(panicked)
    }
}

/// The data of the writer thread.
#[derive(Debug)]
struct WriterThread {
    spool: Arc<Spool>,
    status: Arc<WriterStatus>,
    rate: Arc<AtomicU64>,
    output: ArchiveOutput,
    guard: Option<GuardHandle>,
    /// Places in the file of the present part.
    places: PartPlaces,
    /// Bytes of completely written blocks.
    bytes: u64,
    /// Bytes before the present part.
    part_start: u64,
    /// The error of the first part that did not get its name.
    failed_part: Option<ArchiveError>,
    discarded: Arc<AtomicBool>,
}

impl WriterThread {
    fn run(self) -> Result<u64, ArchiveError> {
        let status = Arc::clone(&self.status);
        let written = self.write();
        written.map_err(|error| ArchiveError { unwritten: status.unwritten(), ..error })
    }

    /// Returns an error without the number of unwritten records.
    fn write(mut self) -> Result<u64, ArchiveError> {
        self.output.keep();
        let mut written = self.write_blocks();
        if let Err(error) = &written {
            self.status.fail(error);
            self.guard.iter().for_each(GuardHandle::fail);
            self.drop_blocks();
        }
        if let Some(error) = self.status.take_lost() {
            written = written.and(Err(error));
        }
        if self.output.naming().is_some() {
            let rate = self.rate.load(Ordering::Relaxed);
            written = written.and(self.patch_rates(rate));
        }
        match written {
            Ok(()) => self.complete(),
            Err(_) if self.discarded.load(Ordering::Acquire) => {
                self.output.discard();
                self.guard.iter().for_each(GuardHandle::abandoned);
                Ok(0)
            }
            Err(error) => {
                self.guard.iter().for_each(GuardHandle::fail);
                let is_part = self.part_start != 0;
                let error = self.output.abandon(self.bytes - self.part_start, error);
                // The partial archive is final, also if this process is killed later.
                self.guard.iter().for_each(GuardHandle::abandoned);
                Err(ArchiveError { is_part, ..error })
            }
        }
    }

    fn write_blocks(&mut self) -> io::Result<()> {
        while let Some(block) = self.spool.pop() {
            let mut block = block?;
            if let Some(cut) = block.info_mut().cut.take() {
                self.cut(&cut)?;
            }
            let (start, info) = (self.bytes, block.info());
            self.bytes = start + block.bytes().len() as u64;
            GuardHandle::before_write(info.update.as_ref(), self.bytes);
            let written = self.write_all(block.bytes());
            self.status.set_full(false);
            if let Err(error) = written {
                self.bytes = start;
                self.status.count_unwritten(block.info().role, block.bytes());
                return Err(error);
            }
            if let Some(guard) = &self.guard {
                guard.after_write(info.update.as_ref(), self.bytes);
            }
            let offset = start - self.part_start;
            self.places.rates.extend(info.rate.map(|index| offset + index as u64 * 8));
            self.places.add(info.role, offset..self.bytes - self.part_start);
            self.status.bytes.store(self.bytes, Ordering::Release);
            self.spool.release(block);
        }
        Ok(())
    }

    /// Drops further blocks: the session continues without the archive.
    fn drop_blocks(&self) {
        while let Some(block) = self.spool.pop() {
            let Ok(block) = block else { continue };
            self.status.count_unwritten(block.info().role, block.bytes());
            self.spool.release(block);
        }
    }

    /// Completes the present part, and begins the next one. If the next file cannot be created,
    /// the present one continues until the next cut.
    ///
    /// The guard gets the next part before the present one has its final name: it then completes
    /// both, whenever this process is killed.
    fn cut(&mut self, cut: &Cut) -> io::Result<()> {
        self.patch_rates(cut.rate)?;
        let created = self.output.create_part();
        self.status.set_cut_failure(created.as_ref().err());
        let Ok(next) = created else {
            let offset = self.bytes - self.part_start;
            let (file, before) = (Arc::clone(&self.output.file), self.places.clone());
            let _unset = cut.next.set(PartBegin { file, offset, before });
            return Ok(());
        };
        if let Some(guard) = &self.guard {
            guard.begin_part(&next, self.bytes);
        }
        let _unset = cut.next.set(PartBegin::of_file(Arc::clone(next.file())));
        let partial = self.output.naming().and_then(Partial::of);
        let written = WrittenPart {
            end: self.bytes,
            bytes: self.bytes - self.part_start,
            places: std::mem::take(&mut self.places),
        };
        if let Err(source) = self.output.complete_part(next, written) {
            let kept = partial.and_then(Partial::into_kept_path);
            let bytes = self.bytes - self.part_start;
            self.status.fail(&source);
            let error = ArchiveError::new(source, bytes, kept);
            self.failed_part.get_or_insert(ArchiveError { is_part: true, ..error });
        }
        self.part_start = self.bytes;
        Ok(())
    }

    /// Writes all bytes, also to a pipe in non-blocking mode.
    fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_some(bytes.get(..MAX_WRITE).unwrap_or(bytes)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) => self.wait_after(error)?,
            }
        }
        Ok(())
    }

    /// Waits until a write that has failed may succeed. Returns the error if it will not.
    fn wait_after(&self, error: io::Error) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock => self.wait_writable(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => self.wait_for_space(error),
            _ => Err(error),
        }
    }

    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.output.bounds() {
            Some(_) => stream::write_some(self.output.file(), bytes),
            None => self.output.file().write(bytes),
        }
    }

    /// Waits until the output accepts bytes. Fails if there is a limit, and it is exceeded.
    fn wait_writable(&self) -> io::Result<()> {
        let (start, patience) = (Instant::now(), self.output.bounds().map(|it| it.patience));
        while !stream::wait_writable(&self.output, CHECK_INTERVAL)? {
            let is_over = patience.is_some_and(|patience| start.elapsed() >= patience);
            if self.spool.has_overflowed() || is_over && self.spool.is_closed() {
                return Err(stream::unread());
            }
        }
        Ok(())
    }

    /// Waits for space on the disk, and blocks wait meanwhile. Fails if the session has ended, a
    /// block found no place to wait, or the file is another process's.
    fn wait_for_space(&self, error: io::Error) -> io::Result<()> {
        let is_own = self.output.naming().is_some();
        if !is_own || self.status.has_lost() || self.spool.is_closed() {
            return Err(error);
        }
        self.status.set_full(true);
        self.spool.wait_until_closed(CHECK_INTERVAL);
        Ok(())
    }

    fn patch_rates(&self, rate: u64) -> io::Result<()> {
        let rate = rate.to_le_bytes();
        self.places.rates.iter().try_for_each(|offset| self.output.patch(&rate, *offset))
    }

    fn complete(self) -> Result<u64, ArchiveError> {
        self.guard.iter().for_each(GuardHandle::complete);
        if self.discarded.load(Ordering::Acquire) || self.output.leaves_earlier() {
            self.output.discard();
            return Ok(0);
        }
        let (bytes, part_bytes) = (self.bytes, self.bytes - self.part_start);
        if self.part_start != 0 && part_bytes <= MAGIC {
            self.output.discard_part();
            return self.failed_part.map_or(Ok(self.part_start), Err);
        }
        let partial = self.output.naming().and_then(Partial::of);
        let completed = self.output.complete().map_err(|source| {
            let kept = partial.and_then(Partial::into_kept_path);
            let error = ArchiveError::new(source, part_bytes, kept);
            ArchiveError { is_part: self.part_start != 0, ..error }
        });
        self.failed_part.map_or(completed, Err).map(|()| bytes)
    }
}

/// The file of an incomplete archive, and its name.
struct Partial {
    directory: Directory,
    name: OsString,
    file: Arc<File>,
}

impl Partial {
    fn of(archive: &NewFile) -> Option<Self> {
        let (directory, name) =
            (archive.place().directory().clone(), archive.partial()?.to_owned());
        Some(Self { directory, name, file: Arc::clone(archive.file()) })
    }

    /// Returns its path, unless another process has removed or replaced the name.
    fn into_kept_path(self) -> Option<PathBuf> {
        let Self { directory, name, file } = self;
        directory.holds(&name, &file).then(|| directory.path().join(name))
    }
}

/// Lowers the thread's priority: blocks can wait here, but full buffers of providers cannot.
pub(crate) fn lower_priority() {
    const NICENESS: i32 = 10;
    // On Linux, each thread has its own niceness. If the call fails, all threads have the same.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS);
}

/// The most bytes of one write(2). Many kernels do not preempt a system call, and the thread that
/// empties the providers' buffers may need the processor.
const MAX_WRITE: usize = 128 << 10;
