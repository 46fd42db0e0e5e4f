//! Access to a recording, to write records.

use trace_format::encode::{self, Encoding};
use trace_format::layout::{cut_str, InstantScope, ThreadKoids, MAX_STRING_BYTES};
use trace_format::record::{Argument, Event, EventKind, Record, Text, Thread, Value};
use trace_protocol::buffer::producer::{Slot, CHUNK_THREAD};
use trace_protocol::mode::BufferingMode;

use crate::engine::access::Access;
use crate::provider::reserved::Reserved;
use crate::provider::writer::Writer;

/// Access to the current recording.
///
/// It does not delay the end of the recording. After that all calls fail, and
/// [`Context::is_current`] is false. String and thread refs belong to the recording: drop them with
/// the context.
#[derive(Debug)]
pub struct Context<'w> {
    writer: &'w mut Writer,
    slot: &'static Slot,
    access: Access,
}

/// The most arguments of an event.
const MAX_ARGUMENTS: usize = 15;

impl Writer {
    /// Returns access to the current recording. `None` if there is none, or if this writer has no
    /// memory yet.
    pub fn context(&mut self) -> Option<Context<'_>> {
        let (slot, access) = self.enter()?;
        Some(Context { writer: self, slot, access })
    }
}

impl Context<'_> {
    /// The thread of the writer. It is registered in every recording.
    pub const THIS_THREAD: Thread = Thread::Indexed(CHUNK_THREAD.bits());

    /// Returns whether the recording is still current.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.access.is_current()
    }

    /// Returns whether `category` is recorded.
    #[must_use]
    pub fn is_enabled(&self, category: &str) -> bool {
        self.writer.is_enabled(category)
    }

    /// Returns the current time of the provider's clock, in ticks.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.writer.now()
    }

    /// Returns what happens when the buffer is full.
    #[must_use]
    pub fn buffering_mode(&self) -> BufferingMode {
        self.writer.engine.recorder.mode().unwrap_or_default()
    }

    /// Returns a text for a record: its index in the string table, or the text itself if the table
    /// is full. Takes a lock for a new text.
    pub fn string<'t>(&mut self, text: &'t str) -> Text<'t> {
        let text = cut_str(text, MAX_STRING_BYTES);
        let index = match self.writer.strings.get(text) {
            Some(reference) => reference.index(),
            None => self.register(text),
        };
        index.map_or(Text::Inline(text.as_bytes()), Text::Indexed)
    }

    fn register(&mut self, text: &str) -> Option<u16> {
        let reference = self.access.register_string(text)?;
        self.writer.strings.insert(text.into(), reference);
        reference.index()
    }

    /// Returns a thread for a record: its index in the thread table, or its koids if the table is
    /// full. Takes a lock: keep the result during the recording.
    ///
    /// A manager replaces `process` by the provider's own process, unless the provider may write
    /// about the machine.
    pub fn thread(&mut self, process: u64, thread: u64) -> Thread {
        let koids = ThreadKoids::new(process, thread);
        let reference = self.access.register_thread(koids);
        reference.map_or(Thread::Inline(koids), |reference| Thread::Indexed(reference.bits()))
    }

    /// Writes a sample of a counter now, if its category is recorded. `id` distinguishes counters
    /// with the same name.
    pub fn counter(
        &mut self,
        category: &str,
        name: &str,
        id: u64,
        values: &[(&str, Value<'_>)],
    ) -> bool {
        self.event(category, name, EventKind::Counter { id }, values)
    }

    /// Writes an instant event now, if its category is recorded.
    pub fn instant(&mut self, category: &str, name: &str, arguments: &[(&str, Value<'_>)]) -> bool {
        let scope = Some(InstantScope::Thread);
        self.event(category, name, EventKind::Instant { scope }, arguments)
    }

    /// Writes a duration from `start`, in ticks, until now, if its category is recorded.
    pub fn duration(
        &mut self,
        category: &str,
        name: &str,
        start: u64,
        arguments: &[(&str, Value<'_>)],
    ) -> bool {
        let kind = EventKind::DurationComplete { end: self.now() };
        self.event_at(start, Self::THIS_THREAD, category, name, kind, arguments)
    }

    /// Writes an event of this thread now, if its category is recorded. Returns whether it was
    /// recorded.
    pub fn event(
        &mut self,
        category: &str,
        name: &str,
        kind: EventKind,
        arguments: &[(&str, Value<'_>)],
    ) -> bool {
        self.event_at(self.now(), Self::THIS_THREAD, category, name, kind, arguments)
    }

    /// Writes an event of another thread or at another time, like [`Context::event`]. Arguments
    /// after the 15th are ignored.
    pub fn event_at(
        &mut self,
        ticks: u64,
        thread: Thread,
        category: &str,
        name: &str,
        kind: EventKind,
        arguments: &[(&str, Value<'_>)],
    ) -> bool {
        if !self.is_enabled(category) {
            return false;
        }
        let mut named = [Argument::new(Text::EMPTY, Value::Null); MAX_ARGUMENTS];
        let count = arguments.len().min(MAX_ARGUMENTS);
        for (argument, (name, value)) in named.iter_mut().zip(arguments) {
            *argument = Argument::new(self.string(name), *value);
        }
        let arguments = named.get(..count).unwrap_or(&[]);
        let (category, name) = (self.string(category), self.string(name));
        let event = Event { ticks, thread, category, name, kind, arguments: arguments.into() };
        self.write(&Record::from(event))
    }

    /// Writes a record of any type that a provider may write. Returns whether it was recorded.
    ///
    /// Refuses the records that a manager would refuse: unregistered refs, text that is not UTF-8,
    /// metadata, scheduling records of a provider that is not about the machine, and string and
    /// thread records. If the buffer is full, the record is counted as lost.
    pub fn write(&mut self, record: &Record<'_>) -> bool {
        let mut words = std::mem::take(&mut self.writer.words);
        words.clear();
        let written = encode::append(&mut words, record).is_ok() && self.write_words(&words);
        self.writer.words = words;
        written
    }

    /// Writes the words of one record, like [`Context::write`].
    pub fn write_words(&mut self, record: &[u64]) -> bool {
        self.access.write(Some(self.slot), record, self.writer.policy)
    }

    /// Writes a record, like [`Context::write`]. For records at a high rate that the provider makes
    /// itself: the words are stored in place, and only the manager checks them. A build with debug
    /// assertions checks them first.
    pub fn write_unchecked(&mut self, record: &Encoding<'_, '_>) -> bool {
        self.access.write_unchecked(self.slot, record, self.writer.policy)
    }

    /// Reserves a record of `words` words, which the caller fills and commits without delay. For
    /// records at a high rate: only the manager checks the record.
    ///
    /// `None` if the recording is over, if a record cannot have so many words, and if the buffer is
    /// full: the record is counted as lost.
    #[inline]
    pub fn reserve(&mut self, words: usize) -> Option<Reserved<'_>> {
        self.access.reserve(self.slot, words).map(Reserved::new)
    }

    /// Writes a record to the durable buffer, which is never overwritten. For example, the name of
    /// an object. Returns whether it was recorded. Takes a lock.
    pub fn write_durable(&mut self, record: &Record<'_>) -> bool {
        let mut words = Vec::new();
        encode::append(&mut words, record).is_ok()
            && self.access.write_durable(&words, self.writer.policy)
    }
}
