//! Reading a buffer while its provider goes on writing it.
//!
//! ```text
//!              directory of the     copy the older ones,            copy the
//!  reader      newest one: list     each: overwritten meanwhile?    newest one     overwritten?
//!  ---------|-------------------|-------------------------------|---------------|----------------->
//! ```
//!
//! The newest rolling buffer is being written, which does no harm: what is committed in it stays.
//! The oldest one is overwritten as soon as the newest is full, also while it is copied. The
//! provider says so in the header before it does it, so that a copy counts if the header did not
//! say so after it was made; else all is made again.
//!
//! Of each thread there are its records up to some moment, without a gap. If anything of a thread
//! is listed in the newest rolling buffer, all that it wrote to the older ones was there before
//! they are copied. The older ones are copied from the oldest on: no thread gets a chunk in them
//! any more, so that a thread with a record under way in one of them has nothing in those behind
//! it. They are all that were not read before, whether a search of the directories found them or
//! not: the provider may begin one behind the search, and then the newest one. One without a chunk
//! has no records. The chunks of all are listed before the first is copied, so the memory of the
//! copy is as large as they are. The loss table comes first: events that are read report no less
//! than it says. Strings come last: what a record refers to was registered before it.

use crate::buffer::header::{field, BufferingMode};
use crate::sync::AtomicU64;

use super::chunks::{live_chunks, live_wraps, LiveChunks};
use super::collector::Collector;
use super::losses::LossTable;

/// How often a copy is tried of a buffer that is filled faster than it can be copied.
const ATTEMPTS: usize = if cfg!(loom) { 2 } else { 8 };

/// A copy of what a buffer held at some moment and its collector had not read, of which nothing was
/// looked at yet.
#[derive(Debug)]
pub struct LiveCopy {
    durable: Vec<u64>,
    rolling: LiveChunks,
    /// Rolling buffers that were overwritten before, in circular mode.
    overwritten: Option<u32>,
    losses: LossTable,
}

impl Collector {
    /// Copies what the buffer holds and was not read yet, while its provider may be writing to it.
    /// The collector goes on as if nothing had been copied.
    ///
    /// In circular mode older rolling buffers are left out if they are overwritten faster than they
    /// can be copied.
    pub fn copy_live(&self) -> LiveCopy {
        let losses = LossTable::copy(&self.mapping, &self.layout);
        let mut rolling = Attempt::default();
        for _ in 0..ATTEMPTS {
            self.try_copy_rolling(&mut rolling);
            if rolling.complete {
                break;
            }
        }
        let overwritten = (self.layout.mode() == BufferingMode::Circular).then_some(rolling.first);
        let durable = self.copy_durable(self.durable_end());
        LiveCopy { durable, rolling: rolling.chunks, overwritten, losses }
    }

    /// Appends the well-formed records of a copy that a clone of this collector made, at the same
    /// point: all that is left.
    pub fn finish_copy(&mut self, mut copy: LiveCopy, out: &mut Vec<u64>) {
        self.durable_read += copy.durable.len();
        self.filter.filter(&mut copy.durable, out);
        copy.overwritten.into_iter().for_each(|first| self.keep_from(first));
        self.losses = Some(copy.losses);
        out.reserve(copy.rolling.len());
        copy.rolling.for_each(|chunk| self.filter.filter_chunk(chunk, out));
        self.note_checked(u32::MAX);
    }

    fn try_copy_rolling(&self, attempt: &mut Attempt) {
        let newest = live_wraps(&self.mapping, &self.layout).pop();
        match newest.filter(|newest| Some(*newest) > self.last_saved) {
            Some(newest) => self.try_copy_until(newest, attempt),
            None => attempt.begin(0, 0),
        }
    }

    /// Copies the rolling buffers that were not read, up to that of `newest`.
    fn try_copy_until(&self, newest: u32, attempt: &mut Attempt) {
        let (mapping, layout) = (&self.mapping, &self.layout);
        let listed: Vec<_> = live_chunks(mapping, layout, newest).collect();
        let unread = self.last_saved.map_or(0, |last| last.saturating_add(1));
        let first = unread.max(self.overwritten_before(newest));
        let older = (first..newest).map(|it| (it, live_chunks(mapping, layout, it).collect()));
        let mut buffers: Vec<(u32, Vec<&[AtomicU64]>)> = older.collect();
        buffers.push((newest, listed));
        let chunks = buffers.iter().flat_map(|(_, chunks)| chunks);
        attempt.begin(first, chunks.map(|chunk| chunk.len()).sum());
        for (wrapped_count, chunks) in buffers {
            attempt.chunks.add_backwards(&chunks);
            attempt.check(wrapped_count, self.is_overwritten(wrapped_count));
        }
    }

    /// Whether the rolling buffer that held `wrapped_count` may hold something else by now.
    fn is_overwritten(&self, wrapped_count: u32) -> bool {
        let newest = (self.word(field::VERSION_MODE_WRAPPED) >> 32) as u32;
        newest.saturating_sub(wrapped_count) as usize >= self.layout.rolling_buffers()
    }
}

/// What was copied of the rolling buffers.
#[derive(Debug, Default)]
struct Attempt {
    chunks: LiveChunks,
    /// The first wrapped count of which there is a copy.
    first: u32,
    complete: bool,
}

impl Attempt {
    /// Begins an attempt at the rolling buffer `first` that copies at most this many words.
    fn begin(&mut self, first: u32, words: usize) {
        self.chunks.restart(words);
        (self.first, self.complete) = (first, true);
    }

    /// Notes whether the rolling buffer that was copied last is overwritten. Then those before it
    /// are left out, too: what is kept has no gap.
    fn check(&mut self, wrapped_count: u32, overwritten: bool) {
        if overwritten {
            self.complete = false;
            self.chunks.clear();
            self.first = wrapped_count.saturating_add(1);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {

    use super::*;
    use crate::buffer::consumer::IdentityPolicy;
    use crate::buffer::header::{directory_entry, Layout};
    use crate::buffer::memory::WriteMapping;
    use crate::sync::Ordering;

    #[test]
    fn what_is_kept_has_no_gap() {
        let kept = |wraps: &[(u32, bool)]| {
            let mut attempt = Attempt::default();
            attempt.begin(3, 0);
            for &(wrap, overwritten) in wraps {
                attempt.chunks.add_backwards(&[&[AtomicU64::new(wrap.into())]]);
                attempt.check(wrap, overwritten);
            }
            let mut kept = Vec::new();
            attempt.chunks.for_each(|chunk| kept.extend_from_slice(chunk));
            (attempt.first, kept, attempt.complete)
        };
        assert_eq!(kept(&[(3, false), (4, false), (5, false)]), (3, vec![3, 4, 5], true));
        assert_eq!(kept(&[(3, true), (4, false), (5, false)]), (4, vec![4, 5], false));
        assert_eq!(kept(&[(3, false), (4, true), (5, false)]), (5, vec![5], false));
        assert!(kept(&[(3, false), (4, true)]).1.is_empty());
    }

    #[test]
    fn copies_of_several_mebibytes_keep_the_order() {
        let parts: Vec<Vec<AtomicU64>> = (0..4)
            .map(|part| (0..1 << 18).map(|word| AtomicU64::new(part << 18 | word)).collect())
            .collect();
        let mut chunks = LiveChunks::default();
        chunks.restart(1 << 20);
        chunks.add_backwards(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let mut copied = Vec::new();
        chunks.for_each(|chunk| copied.extend_from_slice(chunk));
        assert_eq!((copied, chunks.len()), (Vec::from_iter(0..1 << 20), 1 << 20));
    }

    /// A program that is idle has one chunk of a large buffer.
    #[test]
    fn a_copy_takes_the_memory_of_its_chunks() {
        let layout = Layout::plan(BufferingMode::Streaming, 16 << 20, 0).unwrap();
        let memory = WriteMapping::anonymous(layout.total_size());
        let entry = &memory.words()[layout.rolling_start(0)];
        entry.store(directory_entry(0, 1), Ordering::Relaxed);
        let unit = layout.unit_words();
        let collector = Collector::new(memory.reader(), layout, IdentityPolicy::Own(1)).unwrap();
        assert_eq!(collector.copy_live().rolling.reserved(), unit);
    }
}
