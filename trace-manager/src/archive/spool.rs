//! The queue between the event loop and the writer. Its memory is bounded, and the loop never
//! waits.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use trace_protocol::file::Directory;
use trace_protocol::words::as_bytes;

use crate::guard::LedgerUpdate;
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
}

/// The queue. One thread pushes, one pops.
#[derive(Debug)]
pub(crate) struct Spool {
    state: Mutex<State>,
    ready: Condvar,
    /// Bytes in memory, beyond which blocks go to the file.
    limit: usize,
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
        Self { state: Mutex::default(), ready: Condvar::new(), limit, directory }
    }

    /// Appends a block without waiting for the other thread.
    ///
    /// # Errors
    ///
    /// If the file cannot be written. The block is lost then.
    pub(crate) fn push(&self, block: Block) -> io::Result<()> {
        let size = block.bytes().len();
        let mut state = self.lock();
        // A single block of any size is accepted.
        if state.in_memory != 0 && state.in_memory + size > self.limit {
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Spares;
    use std::thread;

    fn block(first: u64, words: usize) -> Block {
        let info = BlockInfo { rate: Some(first as usize), update: None };
        let words = Spares::default().share((first..).take(words).collect());
        Block { words, start: 0, info }
    }

    fn pop_words(spool: &Spool) -> Option<(Vec<u8>, usize)> {
        let ready = spool.pop()?.unwrap();
        let popped = (ready.bytes().to_vec(), ready.info().rate.unwrap());
        spool.release(ready);
        Some(popped)
    }

    #[test]
    fn blocks_beyond_the_limit_keep_their_order() {
        let spool = Spool::new(64, None);
        for first in 0..10 {
            spool.push(block(first, 5)).unwrap();
        }
        assert_eq!(spool.lock().spilled, 9, "the limit is between 40 and 80 bytes");
        for first in 0..5 {
            let words: Vec<u64> = (first..).take(5).collect();
            assert_eq!(pop_words(&spool), Some((as_bytes(&words).to_vec(), first as usize)));
        }
        spool.push(block(10, 5)).unwrap();
        spool.push(block(11, 5)).unwrap();
        spool.close();
        for first in 5..12u64 {
            assert_eq!(pop_words(&spool).unwrap().1, first as usize);
        }
        assert!(spool.pop().is_none());
    }

    #[test]
    fn an_empty_file_is_reused_from_its_start() {
        let spool = Spool::new(8, None);
        for _ in 0..3 {
            spool.push(block(0, 100)).unwrap();
            spool.push(block(1, 100)).unwrap();
            assert_eq!(spool.lock().spill_end, 800);
            pop_words(&spool).unwrap();
            pop_words(&spool).unwrap();
        }
    }

    #[test]
    fn an_empty_queue_accepts_a_large_block() {
        let spool = Spool::new(8, None);
        spool.push(block(0, 1000)).unwrap();
        assert_eq!(spool.lock().spilled, 0);
    }

    #[test]
    fn vectors_are_reused_after_their_last_user() {
        let (spool, spares) = (Spool::new(1 << 20, None), Spares::default());
        let words = spares.share(vec![7; 100]);
        let info = BlockInfo { rate: Some(0), update: None };
        spool.push(Block { words: words.clone(), start: 90, info }).unwrap();
        assert_eq!(pop_words(&spool).unwrap().0.len(), 80);
        assert_eq!(spares.take().capacity(), 0, "the words are still in use");
        drop(words);
        let spare = spares.take();
        assert!(spare.is_empty() && spare.capacity() >= 100);
    }

    #[test]
    fn a_failed_spill_is_reported() {
        let gone = tempfile::tempdir().unwrap();
        let directory = Directory::open(gone.path()).unwrap();
        drop(gone);
        let spool = Spool::new(8, Some(directory));
        spool.push(block(0, 10)).unwrap();
        assert!(spool.push(block(1, 10)).is_err());
        assert_eq!(pop_words(&spool).unwrap().1, 0);
    }

    #[test]
    fn all_blocks_cross_threads_in_order() {
        let spool = Arc::new(Spool::new(4096, None));
        let reader = thread::spawn({
            let spool = Arc::clone(&spool);
            move || {
                let popped: Vec<_> = std::iter::from_fn(|| pop_words(&spool)).collect();
                popped.into_iter().map(|(_, rate)| rate).collect::<Vec<usize>>()
            }
        });
        for first in 0..2000 {
            spool.push(block(first, 64)).unwrap();
        }
        spool.close();
        assert_eq!(reader.join().unwrap(), (0..2000).collect::<Vec<usize>>());
    }
}
