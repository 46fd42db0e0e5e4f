//! The queue between the event loop and the writer. Its memory is bounded, and the loop never
//! waits.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trace_protocol::file::Directory;
use trace_protocol::words::as_bytes;

use crate::ledger::LedgerUpdate;
use crate::output::stream::unread;
use crate::output::{BlockRole, PartFile};
use crate::records::Words;

/// Complete records, and facts about them.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) words: Words,
    /// Index of the first word to write.
    pub(crate) start: usize,
    pub(crate) info: BlockInfo,
}

impl Block {
    /// Returns the bytes to write.
    pub(crate) fn bytes(&self) -> &[u8] {
        as_bytes(self.words.get(self.start..).unwrap_or_default())
    }
}

/// Facts about a block.
#[derive(Debug, Default)]
pub(crate) struct BlockInfo {
    /// Index, in the written words, of the word with the rate of the CPU's counter. The rate is
    /// measured at the end of the session.
    pub(crate) rate: Option<usize>,
    /// The ledger update that goes with the block.
    pub(crate) update: Option<LedgerUpdate>,
    /// The part that begins with the block.
    pub(crate) cut: Option<Cut>,
    pub(crate) role: BlockRole,
}

/// The end of a part of an archive, before the first block of the next one.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The rate of the CPU's counter for the part that ends, in ticks per second.
    pub(crate) rate: u64,
    /// Set to the file of the next part.
    pub(crate) next: PartFile,
}

/// The queue. One thread pushes, one pops.
#[derive(Debug)]
pub(crate) struct Spool {
    state: Mutex<State>,
    ready: Condvar,
    /// Bytes in memory, beyond which blocks go to the file.
    limit: usize,
    /// Whether there is a file.
    spills: bool,
    /// The directory of the file; `None` for the temporary directory.
    directory: Option<Directory>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Entry>,
    in_memory: usize,
    spill: Option<Arc<File>>,
    /// The offset of the next block in the file.
    spill_end: u64,
    /// Blocks in the file that have not been read back.
    spilled: usize,
    closed: bool,
    /// Whether blocks were lost because the limit was exceeded.
    overflowed: bool,
}

#[derive(Debug)]
enum Entry {
    Memory(Block),
    Spilled { offset: u64, length: usize, info: BlockInfo },
}

/// A block to be written.
#[derive(Debug)]
pub(super) enum Ready {
    Memory(Block),
    Spilled { bytes: Vec<u8>, info: BlockInfo },
}

impl Ready {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Memory(block) => block.bytes(),
            Self::Spilled { bytes, .. } => bytes,
        }
    }

    pub(super) fn info_mut(&mut self) -> &mut BlockInfo {
        match self {
            Self::Memory(block) => &mut block.info,
            Self::Spilled { info, .. } => info,
        }
    }

    pub(super) fn info(&self) -> &BlockInfo {
        match self {
            Self::Memory(block) => &block.info,
            Self::Spilled { info, .. } => info,
        }
    }
}

impl Spool {
    /// Creates a queue that keeps about `limit` bytes in memory, and more in a file in `directory`,
    /// else in the temporary directory.
    pub(crate) fn new(limit: usize, directory: Option<Directory>) -> Self {
        let (state, ready) = (Mutex::default(), Condvar::new());
        Self { state, ready, limit, spills: true, directory }
    }

    /// Creates a queue that keeps about `limit` bytes in memory, and loses all blocks beyond.
    pub(crate) fn bounded(limit: usize) -> Self {
        Self { spills: false, ..Self::new(limit, None) }
    }

    /// Appends a block without waiting for the other thread.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, the block is lost. If there is no file, so are those that
    /// wait.
    pub(crate) fn push(&self, block: Block) -> io::Result<()> {
        let size = block.bytes().len();
        let mut state = self.lock();
        // A single block of any size is accepted.
        if state.in_memory != 0 && state.in_memory + size > self.limit {
            if !self.spills {
                state.overflowed = true;
                // The output has not taken them, and the memory is needed.
                state.queue.clear();
                return Err(unread());
            }
            drop(state);
            return self.spill(block);
        }
        state.in_memory += size;
        state.queue.push_back(Entry::Memory(block));
        drop(state);
        self.ready.notify_one();
        Ok(())
    }

    /// Writes a block to the file. Only the pushing thread advances the file's end.
    fn spill(&self, block: Block) -> io::Result<()> {
        let (file, offset) = self.spill_file()?;
        let bytes = block.bytes();
        file.write_all_at(bytes, offset)?;
        let length = bytes.len();
        let mut state = self.lock();
        state.spill_end = offset + length as u64;
        state.spilled += 1;
        state.queue.push_back(Entry::Spilled { offset, length, info: block.info });
        drop(state);
        self.ready.notify_one();
        Ok(())
    }

    fn spill_file(&self) -> io::Result<(Arc<File>, u64)> {
        let mut state = self.lock();
        if state.spilled == 0 {
            state.spill_end = 0;
        }
        let offset = state.spill_end;
        if let Some(file) = &state.spill {
            return Ok((Arc::clone(file), offset));
        }
        let file = match &self.directory {
            Some(directory) => directory.create_unnamed()?,
            None => Directory::open(&std::env::temp_dir())?.create_unnamed()?,
        };
        let file = Arc::new(file);
        state.spill = Some(Arc::clone(&file));
        Ok((file, offset))
    }

    /// Waits for the oldest block and takes it. Returns `None` if the queue is closed and empty.
    ///
    /// # Errors
    ///
    /// If a block cannot be read back.
    pub(super) fn pop(&self) -> Option<io::Result<Ready>> {
        let mut state = self.lock();
        loop {
            match state.queue.pop_front() {
                Some(Entry::Memory(block)) => {
                    return Some(Ok(Ready::Memory(block)));
                }
                Some(Entry::Spilled { offset, length, info }) => {
                    let file = state.spill.clone();
                    drop(state);
                    return Some(self.read_back(file, offset, length, info));
                }
                None if state.closed => return None,
                None => state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn read_back(
        &self,
        file: Option<Arc<File>>,
        offset: u64,
        length: usize,
        info: BlockInfo,
    ) -> io::Result<Ready> {
        let mut bytes = vec![0; length];
        let read = file.ok_or(io::ErrorKind::NotFound)?.read_exact_at(&mut bytes, offset);
        self.lock().spilled -= 1;
        read.map(|()| Ready::Spilled { bytes, info })
    }

    /// Releases a block after it is written. Until then, its memory counts.
    pub(super) fn release(&self, ready: Ready) {
        if let Ready::Memory(block) = ready {
            self.lock().in_memory -= block.bytes().len();
        }
    }

    /// Marks the end: no block will be pushed.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_one();
    }

    /// Returns whether no block follows that the writer could write, because blocks were lost.
    pub(super) fn has_overflowed(&self) -> bool {
        self.lock().overflowed
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Waits for the end, but not longer than `timeout`.
    pub(super) fn wait_until_closed(&self, timeout: Duration) {
        let is_open = |state: &mut State| !state.closed;
        drop(self.ready.wait_timeout_while(self.lock(), timeout, is_open));
    }

    /// Returns the number of blocks in the file.
    #[cfg(test)]
    pub(super) fn spilled(&self) -> usize {
        self.lock().spilled
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
