//! The string table of the recording, and the durable buffer that holds it.
//!
//! The service thread fills it when a session starts. Threads of the application may add to it
//! during the recording, for trace points that are created at run time. No trace point uses it.

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

use crate::engine::categories::SelectedCategories;
use crate::engine::conditions::Conditions;
use crate::engine::turn::{Demands, Turn};
use crate::engine::watches::Watches;

/// The number of durable buffers so far in this process. A cleared buffer counts again.
static CONTENTS: AtomicU64 = AtomicU64::new(0);

/// The last refs of the current recording, for threads that must not wait for the table's lock.
///
/// Rules: stored under the lock. They decrease only between recordings.
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

/// Words of the durable buffer that are reserved for reports of omissions.
const RESERVED_WORDS: usize = 80;

/// The part of the durable buffer that a name must leave free.
#[derive(Clone, Copy, Debug)]
pub enum Keep {
    /// For the names of other objects, if this object has a recorded name.
    Half,
    /// For strings, without which trace points are off.
    Eighth,
    /// For reports of losses, which are the only records that follow.
    Little,
}

/// The string table and the thread table, and the durable buffer, which has their records.
#[derive(Debug)]
pub struct Table {
    durable: DurableWriter,
    layout: Layout,
    clock: fn() -> u64,
    refs: &'static LastRefs,
    indices: HashMap<Box<str>, u16>,
    /// The index of each thread, by process and thread.
    threads: HashMap<(u64, u64), u8>,
    /// The categories of the current recording, or `None`.
    selected: Option<SelectedCategories>,
    /// The conditions on durations.
    watches: Watches,
    /// The number of sites that are off because the table is full.
    disabled_sites: u64,
    /// The number of names that are not recorded because the durable buffer is full.
    omitted_names: u64,
    /// The number of the contents of the durable buffer.
    contents: u64,
}

impl Table {
    /// Returns a table in the durable buffer of `mapping`, with the strings of loss records, which
    /// are registered first.
    pub(crate) fn new(
        mapping: WriteMapping,
        layout: Layout,
        clock: fn() -> u64,
        refs: &'static LastRefs,
        conditions: &'static Conditions,
    ) -> (Self, LossStrings) {
        let durable = DurableWriter::new(mapping, layout);
        let mut table = Self {
            durable,
            layout,
            clock,
            refs,
            indices: HashMap::new(),
            threads: HashMap::new(),
            selected: None,
            watches: Watches::new(conditions),
            disabled_sites: 0,
            omitted_names: 0,
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
        // They have the same refs as before, because they are registered first again.
        self.register_loss_strings();
    }

    /// Returns the ref of `text`, and registers `text` if it is new. `None` if the table or the
    /// durable buffer is full.
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

    /// Returns the ref of a thread, and registers the thread if it is new. `None` if the table or
    /// the durable buffer is full.
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

    /// Returns the last index of a thread. The first one is the owner of a chunk.
    fn last_thread(&self) -> u8 {
        CHUNK_THREAD.bits().saturating_add(u8::try_from(self.threads.len()).unwrap_or(u8::MAX))
    }

    fn publish_last(&self) {
        let last_string = u16::try_from(self.indices.len()).unwrap_or(u16::MAX);
        self.refs.string.store(last_string, Ordering::Relaxed);
        self.refs.thread.store(self.last_thread(), Ordering::Relaxed);
    }

    /// Writes a record to the durable buffer, if it is not full.
    pub(crate) fn append(&mut self, record: &Record<'_>) -> Option<()> {
        let mut words = Vec::new();
        encode::append(&mut words, record).ok()?;
        self.durable.append(&words).ok()
    }

    /// Sets the categories that are recorded from now on.
    pub(crate) fn select(&mut self, selected: Option<SelectedCategories>) {
        self.selected = selected;
    }

    /// Returns whether categories are selected: during a recording, and while it starts and stops.
    pub fn is_recording(&self) -> bool {
        self.selected.is_some()
    }

    /// Turns `site` on if its category is selected, and off if not.
    pub fn turn(&mut self, site: &impl Turn) {
        let category = site.category();
        let is_selected = self
            .selected
            .as_ref()
            .is_some_and(|selected| category.is_empty() || selected.matches(&category));
        if !is_selected {
            site.turn_off();
        } else {
            let demands = Demands {
                is_watched: self.watch(&category, site),
                function_records: self.layout.has_function_records(),
            };
            if site.turn_on(&mut |text| self.intern(text), demands).is_none() {
                self.disabled_sites += 1;
            }
        }
    }

    /// Adds a trace point to the conditions on its durations. Returns whether it must compare.
    fn watch(&mut self, category: &str, site: &impl Turn) -> bool {
        if !self.watches.has_category(category) {
            return false;
        }
        let duration = site.durations().filter(|it| self.watches.has(category, &it.name));
        let Some(duration) = duration else { return false };
        let refs = (self.intern(category), self.intern(&duration.name));
        let (Some(category_ref), Some(name_ref)) = refs else { return false };
        let refs = u32::from(category_ref.bits()) | u32::from(name_ref.bits()) << 16;
        self.watches.add(category, &duration.name, duration.is_compared, refs)
    }

    /// Returns the conditions on durations.
    pub(crate) fn watches(&mut self) -> &mut Watches {
        &mut self.watches
    }

    /// Reports in the trace the sites that are off because the table is full.
    pub(crate) fn report_disabled_sites(&mut self) {
        let number = std::mem::take(&mut self.disabled_sites);
        self.report_omission(Omission::TracePoints, number);
    }

    /// Reports in the trace the names of threads, tracks and the process that are missing.
    pub(crate) fn report_omitted_names(&mut self) {
        let number = std::mem::take(&mut self.omitted_names);
        self.report_omission(Omission::Names, number);
    }

    /// Reports in the trace that `number` items are missing, if it is not 0.
    pub fn report_omission(&mut self, omission: Omission, number: u64) {
        if number == 0 {
            return;
        }
        let process = u64::from(std::process::id());
        let arguments = [Argument::new(Omission::NUMBER, Value::Uint64(number))];
        let event = Event {
            ticks: (self.clock)(),
            thread: Thread::Inline(ThreadKoids::new(process, process)),
            category: LossStrings::CATEGORY.into(),
            name: omission.event().into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Process) },
            arguments: (&arguments).into(),
        };
        let _full = self.append(&Record::from(event));
    }

    /// Writes the name of an object, if it leaves enough of the durable buffer free.
    pub fn append_name(&mut self, record: &[u64], keep: Keep) -> Option<()> {
        let all = self.layout.durable_size() / 8;
        let kept = match keep {
            Keep::Half => all / 2,
            Keep::Eighth => all / 8,
            Keep::Little => RESERVED_WORDS,
        };
        let free = self.durable.room().checked_sub(kept)?;
        (record.len() < free).then(|| self.durable.append(record).ok())?
    }

    /// Writes a record to the durable buffer, if it leaves enough space for strings.
    pub(crate) fn append_durable(&mut self, record: &[u64]) -> Option<()> {
        self.append_name(record, Keep::Eighth)
    }

    /// Counts names that are not recorded because the durable buffer is full.
    pub fn count_omitted_names(&mut self, number: u64) {
        self.omitted_names += number;
    }

    /// Returns the number of the durable buffer's contents. It is unique in the process, and
    /// changes when the buffer is cleared.
    pub fn contents(&self) -> u64 {
        self.contents
    }

    /// Returns the durable buffer.
    pub(crate) fn durable(&mut self) -> &mut DurableWriter {
        &mut self.durable
    }
}

fn next_contents() -> u64 {
    CONTENTS.fetch_add(1, Ordering::Relaxed) + 1
}
