//! What a recording knows about its buffer: fixed while it runs, private to the provider.

use std::fmt;

use trace_format::layout::{StringRef, ThreadRef};

use crate::buffer::header::{directory_entry, field, loss_entry, Layout};
use crate::buffer::memory::WriteMapping;
use crate::sync::{fence, AtomicU64, Ordering};

use super::loss::LossReason;
use super::publish::Word;

/// The thread ref of every record in every chunk: each chunk registers its owner under this index.
pub const CHUNK_THREAD: ThreadRef = ThreadRef::indexed(1);

/// Words of the thread record that begins a chunk.
pub(super) const THREAD_RECORD_WORDS: usize = 3;

/// Wakes the service thread of a recorder.
pub trait Wake: fmt::Debug + Send + Sync {
    /// Wakes it. Called on traced threads, in signal handlers too.
    fn wake(&self);

    /// Whether traced threads may make no system call.
    fn is_silent(&self) -> bool {
        false
    }
}

/// Wakes nobody, where nobody waits.
impl Wake for () {
    fn wake(&self) {}
}

/// A recording's buffer and what its records say.
#[derive(Debug)]
pub struct RecorderSession {
    /// The memory, of the layout's total size.
    pub mapping: WriteMapping,
    /// The sizes of its parts.
    pub layout: Layout,
    /// The process koid of thread records.
    pub process: u64,
    /// Reads the clock that the records' ticks come from.
    pub clock: fn() -> u64,
    /// Wakes the service thread: once a switch, or once a quarter of the rolling buffers in
    /// circular mode.
    pub wake: &'static dyn Wake,
    /// The strings of loss records, in the string table.
    pub loss_strings: LossStrings,
}

/// The string refs of what a loss record says.
#[derive(Clone, Copy, Debug)]
pub struct LossStrings {
    /// The category.
    pub category: StringRef,
    /// The name of the event.
    pub name: StringRef,
    /// The keys `reason`, `number`, `from` and `to`.
    pub keys: [StringRef; 4],
    /// The reasons, in the order of [`LossReason::ALL`].
    pub reasons: [StringRef; 6],
}

impl LossStrings {
    /// The category of loss records.
    pub const CATEGORY: &'static str = "trace";
    /// The name of loss records.
    pub const NAME: &'static str = "records dropped";
    /// The keys of a loss record's arguments.
    pub const KEYS: [&'static str; 4] = ["reason", "number", "from", "to"];

    /// Registers the strings of loss records.
    pub fn register(mut intern: impl FnMut(&'static str) -> StringRef) -> Self {
        Self {
            category: intern(Self::CATEGORY),
            name: intern(Self::NAME),
            keys: Self::KEYS.map(&mut intern),
            reasons: LossReason::ALL.map(|reason| intern(reason.as_str())),
        }
    }
}

/// A piece of a rolling buffer that one thread owns.
#[derive(Debug)]
pub(super) struct Chunk<'a> {
    pub(super) words: &'a [Word],
    pub(super) units: u32,
}

impl RecorderSession {
    /// Units that hold `words` words, what begins the chunk, and the word that ends it.
    pub(super) fn units_for(&self, words: usize) -> u32 {
        let words = words + self.opening_words() + 1;
        words.div_ceil(self.layout.unit_words()) as u32
    }

    /// Words that begin a chunk: its thread record, and the base of its function records.
    pub(super) fn opening_words(&self) -> usize {
        THREAD_RECORD_WORDS + usize::from(self.layout.has_function_records())
    }

    /// The most units that a chunk grows to by itself: 64 KiB, or a sixteenth of a rolling buffer.
    pub(super) fn most_units(&self) -> u32 {
        let units = (64 << 10) / self.layout.unit_size() as u32;
        units.min(self.layout.units() / 16).max(1)
    }

    /// Publishes the chunk that begins at unit `first`: empty, whatever an earlier wrap left there.
    pub(super) fn publish_chunk(&self, wrapped_count: u32, first: u32, units: u32) -> Chunk<'_> {
        let directory = self.layout.rolling_start(wrapped_count);
        let unit_words = self.layout.unit_words();
        let start = directory + self.layout.directory_words() + first as usize * unit_words;
        let words = &self.mapping.words()[start..start + units as usize * unit_words];
        // Who copies what the chunk overwrites sees the wrapped count that said so, which this
        // thread has acquired with its reservation.
        fence(Ordering::Release);
        words[0].store(0, Ordering::Relaxed);
        // Released: who sees the entry sees the zero word, so that stale records are never taken
        // for this chunk's.
        self.mapping.words()[directory + first as usize]
            .store(directory_entry(wrapped_count, units), Ordering::Release);
        Chunk { words, units }
    }

    /// Tells the reader that the rolling buffer of `wrapped_count` was left with so many bytes
    /// reserved.
    pub(super) fn publish_end(&self, wrapped_count: u32, reserved_units: u32) {
        let bytes =
            reserved_units as usize * self.layout.unit_size() + self.layout.directory_words() * 8;
        let index = wrapped_count as usize % self.layout.rolling_buffers();
        self.field(field::ROLLING_END + index).store(bytes as u64, Ordering::Relaxed);
    }

    /// Tells the reader the time after which no record begins; 0 if the recording begins.
    pub(super) fn publish_stop(&self, ticks: u64) {
        self.field(field::STOPPED_AT).store(ticks, Ordering::Release);
    }

    /// Tells the reader that from now on the rolling buffer of `wrapped_count` may be written, and
    /// what it held overwritten. A count that comes late changes nothing.
    pub(super) fn publish_wrapped_count(&self, wrapped_count: u32) {
        let [_, version_mode, ..] = self.layout.to_header();
        let word = version_mode | (u64::from(wrapped_count) << 32);
        self.field(field::VERSION_MODE_WRAPPED).fetch_max(word, Ordering::AcqRel);
    }

    /// Whether the switch to this wrapped count wakes the service thread in circular mode: a
    /// quarter of the rolling buffers is left meanwhile, and it frees all of them at once.
    pub(super) fn wakes_at(&self, wrapped_count: u32) -> bool {
        let quarter = self.layout.rolling_buffers() as u32 / 4;
        wrapped_count % quarter.max(1) == 0
    }

    /// An entry of the loss table, of [`loss_entry::WORDS`] words.
    pub(super) fn loss_entry(&self, index: u16) -> Option<&[Word]> {
        let index = usize::from(index);
        let start = self.layout.losses_start() + index * loss_entry::WORDS;
        let entry = self.mapping.words().get(start..start + loss_entry::WORDS);
        entry.filter(|_| index < self.layout.loss_entries())
    }

    pub(super) fn field(&self, index: usize) -> &AtomicU64 {
        &self.mapping.words()[index]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::buffer::header::{BufferingMode, Parts};

    fn session(
        mode: BufferingMode,
        rolling_buffers: usize,
        rolling_size: usize,
    ) -> RecorderSession {
        let parts = Parts {
            losses_size: Layout::MIN_LOSSES_SIZE,
            durable_size: 4096,
            rolling_buffers,
            rolling_size,
            unit_size: 256,
        };
        let layout = Layout::new(mode, parts).unwrap();
        RecorderSession {
            mapping: WriteMapping::anonymous(layout.total_size()),
            layout,
            process: 1,
            clock: || 1,
            wake: &(),
            loss_strings: LossStrings::register(|_| StringRef::indexed(1)),
        }
    }

    /// A unit has 32 words, of which a chunk needs three for its thread record and one for its end.
    #[test]
    fn a_chunk_has_room_for_its_thread_and_its_end() {
        let session = session(BufferingMode::Streaming, 2, 64 << 10);
        let units = [1, 28, 29, 60, 61].map(|words| session.units_for(words));
        assert_eq!(units, [1, 1, 2, 2, 3]);
    }

    #[test]
    fn chunks_grow_up_to_a_share_of_the_buffer() {
        let units = |size| session(BufferingMode::Streaming, 2, size).most_units();
        // The directory of 256 units takes 8 of them.
        assert_eq!([4096, 64 << 10, 1 << 20].map(units), [1, 248 / 16, 3968 / 16]);
        assert_eq!(units(8 << 20), 256, "64 KiB");
    }

    #[test]
    fn a_chunk_is_published_empty_in_its_place() {
        let session = session(BufferingMode::Streaming, 2, 64 << 10);
        let layout = session.layout;
        session.mapping.words().iter().for_each(|word| word.store(7, Ordering::Relaxed));
        let chunk = session.publish_chunk(3, 5, 2);
        assert_eq!((chunk.units, chunk.words.len()), (2, 64));
        assert_eq!(chunk.words[0].load(Ordering::Relaxed), 0);
        let word = |index: usize| session.mapping.words()[index].load(Ordering::Relaxed);
        let directory = layout.rolling_offset(1) / 8;
        assert_eq!(word(directory + 5), directory_entry(3, 2));
        let start = directory + layout.directory_words() + 5 * 32;
        assert_eq!((word(start), word(start + 1), word(directory + 6)), (0, 7, 7));
    }

    /// Circular buffers are freed several at once.
    #[test]
    fn the_service_thread_is_woken_while_a_quarter_of_a_circular_buffer_is_left() {
        let wakes = |buffers| {
            let session = session(BufferingMode::Circular, buffers, 4096);
            (1..9).filter(|wrap| session.wakes_at(*wrap)).collect::<Vec<_>>()
        };
        assert_eq!(wakes(8), [2, 4, 6, 8]);
        assert_eq!(wakes(4), Vec::from_iter(1..9));
        assert_eq!(wakes(2), Vec::from_iter(1..9));
    }

    #[test]
    fn the_header_says_how_far_a_buffer_was_written() {
        let session = session(BufferingMode::Streaming, 2, 64 << 10);
        session.publish_end(3, 10);
        let end = session.field(field::ROLLING_END + 1).load(Ordering::Relaxed);
        assert_eq!(end, (10 + 8) * 256);
        session.publish_wrapped_count(5);
        session.publish_wrapped_count(4);
        let word = session.field(field::VERSION_MODE_WRAPPED).load(Ordering::Relaxed);
        assert_eq!((word >> 32, word as u32), (5, session.layout.to_header()[1] as u32));
    }

    #[test]
    fn the_loss_table_ends_before_the_durable_buffer() {
        let session = session(BufferingMode::Streaming, 2, 4096);
        let entries = Layout::MIN_LOSSES_SIZE as u16 / 64;
        let place = |index| session.loss_entry(index).map(|entry| (entry.as_ptr(), entry.len()));
        let start = session.layout.losses_offset() / 8;
        let words = session.mapping.words();
        assert_eq!(place(0), Some((words[start..].as_ptr(), 8)));
        assert_eq!(place(2), Some((words[start + 16..].as_ptr(), 8)));
        assert!(place(entries - 1).is_some() && place(entries).is_none());
    }
}
