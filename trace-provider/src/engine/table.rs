//! The string table of the recording, and the durable buffer that holds it.
//!
//! The service thread fills it when a session starts. Threads of the application may add to it
//! while recording goes on, for trace points that are made at run time; no trace point touches it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU16, AtomicU64, AtomicU8, Ordering};

use trace_format::encode;
use trace_format::layout::{InstantScope, StringRef, ThreadKoids, ThreadRef, MAX_STRING_INDEX};
use trace_format::record::{Argument, Event, EventKind, Record, Thread, Value};
use trace_protocol::buffer::consumer::Registered;
use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::omission::Omission;
use trace_protocol::buffer::producer::{DurableWriter, LossStrings, CHUNK_THREAD};

use crate::engine::categories::Wanted;
use crate::engine::turn::Turn;

/// How often a durable buffer was begun.
static CONTENTS: AtomicU64 = AtomicU64::new(0);

/// What records may refer to in the recording under way, for who may not wait for the table's lock.
///
/// Rules: stored with the lock held; lower again in another recording only.
#[derive(Debug)]
pub(crate) struct LastRefs {
    /// The last index of a string.
    string: AtomicU16,
    /// The last index of a thread.
    thread: AtomicU8,
}

impl LastRefs {
    pub(crate) const fn new() -> Self {
        Self { string: AtomicU16::new(0), thread: AtomicU8::new(CHUNK_THREAD.bits()) }
    }
}

impl Registered for LastRefs {
    fn has_string(&self, index: u16) -> bool {
        (1..=self.string.load(Ordering::Relaxed)).contains(&index)
    }

    fn has_thread(&self, index: u8) -> bool {
        (1..=self.thread.load(Ordering::Relaxed)).contains(&index)
    }
}

/// Words of the durable buffer that strings leave free, for what has to be said when there are too
/// many of them.
const RESERVED_WORDS: usize = 64;

/// How much of the durable buffer names leave free.
#[derive(Clone, Copy, Debug)]
pub enum Keep {
    /// For the names of other objects, where an object has one already.
    Half,
    /// For strings, without which trace points are off.
    Eighth,
    /// Nothing but losses follows.
    Little,
}

/// Strings that records refer to by their index, and what else has to survive in the durable
/// buffer.
#[derive(Debug)]
pub struct Table {
    durable: DurableWriter,
    layout: Layout,
    clock: fn() -> u64,
    refs: &'static LastRefs,
    indices: HashMap<Box<str>, u16>,
    /// Threads by process and thread, with their index.
    threads: HashMap<(u64, u64), u8>,
    /// What is being recorded; `None` while nothing is.
    wanted: Option<Wanted>,
    /// Sites that are off because one of their strings found no room.
    left_off: u64,
    /// Names that found no room.
    names_left_off: u64,
    /// What tells the contents of the durable buffer from other ones.
    contents: u64,
}

impl Table {
    /// An empty table in the durable buffer of `mapping`, and what losses are told with, which is
    /// registered first.
    pub(crate) fn new(
        mapping: WriteMapping,
        layout: Layout,
        clock: fn() -> u64,
        refs: &'static LastRefs,
    ) -> (Self, LossStrings) {
        let durable = DurableWriter::new(mapping, layout);
        let mut table = Self {
            durable,
            layout,
            clock,
            refs,
            indices: HashMap::new(),
            threads: HashMap::new(),
            wanted: None,
            left_off: 0,
            names_left_off: 0,
            contents: next_contents(),
        };
        let strings = table.register_loss_strings();
        (table, strings)
    }

    fn register_loss_strings(&mut self) -> LossStrings {
        LossStrings::register(|text| self.intern(text).unwrap_or(StringRef::EMPTY))
    }

    /// Empties the table and the durable buffer.
    pub(crate) fn clear(&mut self) {
        self.durable.clear();
        self.contents = next_contents();
        self.indices.clear();
        self.threads.clear();
        self.publish_last();
        // Registered first and in the same order as at the beginning, they have the same refs.
        self.register_loss_strings();
    }

    /// The ref of `text`, which is registered if it is new; `None` if the table or the durable
    /// buffer is full.
    pub fn intern(&mut self, text: &str) -> Option<StringRef> {
        if text.is_empty() {
            return Some(StringRef::EMPTY);
        }
        if let Some(index) = self.indices.get(text) {
            return Some(StringRef::indexed(*index));
        }
        if self.durable.room() < RESERVED_WORDS {
            return None;
        }
        let index = u16::try_from(self.indices.len() + 1)
            .ok()
            .filter(|index| *index <= MAX_STRING_INDEX)?;
        self.append(&Record::String { index, value: text.as_bytes() })?;
        self.indices.insert(text.into(), index);
        self.publish_last();
        Some(StringRef::indexed(index))
    }

    /// The ref of a thread, which is registered if it is new; `None` if the table or the durable
    /// buffer is full.
    pub fn register_thread(&mut self, koids: ThreadKoids) -> Option<ThreadRef> {
        let key = (koids.process, koids.thread);
        if let Some(index) = self.threads.get(&key) {
            return Some(ThreadRef::indexed(*index));
        }
        if self.durable.room() < RESERVED_WORDS {
            return None;
        }
        let index = self.last_thread().checked_add(1)?;
        self.append(&Record::Thread { index, koids })?;
        self.threads.insert(key, index);
        self.publish_last();
        Some(ThreadRef::indexed(index))
    }

    /// The last index of a thread: that of chunks' own thread, or of one that was registered.
    fn last_thread(&self) -> u8 {
        CHUNK_THREAD.bits().saturating_add(u8::try_from(self.threads.len()).unwrap_or(u8::MAX))
    }

    fn publish_last(&self) {
        let last_string = u16::try_from(self.indices.len()).unwrap_or(u16::MAX);
        self.refs.string.store(last_string, Ordering::Relaxed);
        self.refs.thread.store(self.last_thread(), Ordering::Relaxed);
    }

    /// Writes a record to the durable buffer, if it has room.
    pub(crate) fn append(&mut self, record: &Record<'_>) -> Option<()> {
        let mut words = Vec::new();
        encode::append(&mut words, record).ok()?;
        self.durable.append(&words).ok()
    }

    /// Sets what is recorded from now on.
    pub(crate) fn want(&mut self, wanted: Option<Wanted>) {
        self.wanted = wanted;
    }

    /// Whether something is recorded.
    pub fn is_wanted(&self) -> bool {
        self.wanted.is_some()
    }

    /// Turns `site` on if its category is recorded, and off if not.
    pub fn turn(&mut self, site: &impl Turn) {
        let category = site.category();
        let wanted = self
            .wanted
            .as_ref()
            .is_some_and(|wanted| category.is_empty() || wanted.matches(&category));
        if !wanted {
            site.turn_off();
        } else if site.turn_on(&mut |text| self.intern(text)).is_none() {
            self.left_off += 1;
        }
    }

    /// Says in the trace that sites are off because their strings found no room.
    pub(crate) fn tell_left_off(&mut self) {
        let number = std::mem::take(&mut self.left_off);
        self.tell(Omission::TracePoints, number);
    }

    /// Says in the trace that names of threads, tracks and the process are missing.
    pub(crate) fn tell_names_left_off(&mut self) {
        let number = std::mem::take(&mut self.names_left_off);
        self.tell(Omission::Names, number);
    }

    /// Says in the trace that `number` of something are left out, if they are.
    pub fn tell(&mut self, what: Omission, number: u64) {
        if number == 0 {
            return;
        }
        let process = u64::from(std::process::id());
        let arguments = [Argument::new(Omission::NUMBER, Value::Uint64(number))];
        let event = Event {
            ticks: (self.clock)(),
            thread: Thread::Inline(ThreadKoids::new(process, process)),
            category: LossStrings::CATEGORY.into(),
            name: what.event().into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Process) },
            arguments: (&arguments).into(),
        };
        let _full = self.append(&Record::from(event));
    }

    /// Writes the name of something, if it leaves room enough for what matters more.
    pub fn append_name(&mut self, record: &[u64], keep: Keep) -> Option<()> {
        let all = self.layout.durable_size() / 8;
        let kept = match keep {
            Keep::Half => all / 2,
            Keep::Eighth => all / 8,
            Keep::Little => RESERVED_WORDS,
        };
        let room = self.durable.room().checked_sub(kept)?;
        (record.len() < room).then(|| self.durable.append(record).ok())?
    }

    /// Writes a record to the durable buffer, if it leaves room for strings.
    pub(crate) fn append_durable(&mut self, record: &[u64]) -> Option<()> {
        self.append_name(record, Keep::Eighth)
    }

    /// Counts names that found no room, and that nobody writes later.
    pub fn leave_off_names(&mut self, number: u64) {
        self.names_left_off += number;
    }

    /// A number that the contents of the durable buffer have until it is emptied, and no others
    /// have in this process.
    pub fn contents(&self) -> u64 {
        self.contents
    }

    /// The durable buffer.
    pub(crate) fn durable(&mut self) -> &mut DurableWriter {
        &mut self.durable
    }
}

fn next_contents() -> u64 {
    CONTENTS.fetch_add(1, Ordering::Relaxed) + 1
}
