//! A recording as the service thread sees it: strings registered, sites on, recorder running.

use std::collections::HashMap;
use std::sync::atomic::{AtomicPtr, AtomicU16, Ordering};
use std::time::Duration;

use trace_format::encode;
use trace_format::layout::{InstantScope, StringRef, ThreadKoids, MAX_STRING_INDEX};
use trace_format::record::{Argument, Event, EventKind, Record, Thread, Value};
use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::producer::{DurableWriter, LossStrings, Session};
use trace_protocol::categories::CategorySet;

use crate::clock;
use crate::point::site::sites;
use crate::RECORDER;

/// The categories of the recording, for questions at run time. Never freed, since a traced thread may be looking at it.
static CATEGORIES: AtomicPtr<Wanted> = AtomicPtr::new(std::ptr::null_mut());

/// The categories that are recorded: those that a session asks for, of those that the application allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    asked: CategorySet,
    allowed: CategorySet,
}

impl Wanted {
    pub(crate) fn new(asked: CategorySet, allowed: CategorySet) -> Self {
        Self { asked, allowed }
    }

    pub(crate) fn matches(&self, category: &str) -> bool {
        self.asked.matches(category) && self.allowed.matches(category)
    }
}

/// The string ref of the key `process`, in the recording under way.
static PROCESS_KEY: AtomicU16 = AtomicU16::new(0);

/// Whether `category` is being recorded.
pub fn is_category_enabled(category: &str) -> bool {
    // SAFETY: the pointer is null or came from `Box::leak`.
    let categories = unsafe { CATEGORIES.load(Ordering::Acquire).as_ref() };
    RECORDER.is_recording() && categories.is_some_and(|categories| categories.matches(category))
}

/// The string ref of the key `process`.
pub(crate) fn process_key() -> StringRef {
    StringRef::from_bits(PROCESS_KEY.load(Ordering::Relaxed))
}

/// A buffer of this process, recorded into between [`Recording::start`] and [`Recording::stop`].
#[derive(Debug)]
pub(crate) struct Recording {
    durable: DurableWriter,
    strings: Strings,
}

/// How long the end of a recording waits for threads to leave their trace points.
const PATIENCE: Duration = Duration::from_secs(1);

/// Words of the durable buffer that strings leave free, for what has to be said when there are too many of them.
const RESERVED_WORDS: usize = 64;

/// The string table of the recording.
#[derive(Debug, Default)]
struct Strings {
    indices: HashMap<&'static str, u16>,
}

impl Strings {
    /// The ref of `text`, which is registered if it is new; `None` if the table or the durable buffer is full.
    fn intern(&mut self, durable: &mut DurableWriter, text: &'static str) -> Option<StringRef> {
        if text.is_empty() {
            return Some(StringRef::EMPTY);
        }
        if let Some(index) = self.indices.get(text) {
            return Some(StringRef::indexed(*index));
        }
        if durable.room() < RESERVED_WORDS {
            return None;
        }
        let index = u16::try_from(self.indices.len() + 1).ok().filter(|index| *index <= MAX_STRING_INDEX)?;
        append(durable, &Record::String { index, value: text.as_bytes() })?;
        self.indices.insert(text, index);
        Some(StringRef::indexed(index))
    }
}

/// Writes a record to the durable buffer, if it has room.
fn append(durable: &mut DurableWriter, record: &Record<'_>) -> Option<()> {
    let mut words = Vec::new();
    encode::append(&mut words, record).ok()?;
    durable.append(&words).ok()
}

impl Recording {
    /// Makes `mapping` the recorder's buffer. `wake` wakes the service thread.
    pub(crate) fn begin(mapping: WriteMapping, layout: Layout, wake: fn()) -> Self {
        let mut durable = DurableWriter::new(mapping.clone(), layout);
        let mut strings = Strings::default();
        let loss_strings =
            LossStrings::register(|text| strings.intern(&mut durable, text).unwrap_or(StringRef::EMPTY));
        let process = u64::from(std::process::id());
        RECORDER.begin(Box::new(Session { mapping, layout, process, clock: clock::ticks, wake, loss_strings }));
        Self { durable, strings }
    }

    /// Empties the durable buffer, and with it the string table.
    pub(crate) fn clear(&mut self) {
        self.durable.clear();
        self.strings = Strings::default();
        // Registered first and in the same order as at the beginning, they have the same refs.
        LossStrings::register(|text| self.strings.intern(&mut self.durable, text).unwrap_or(StringRef::EMPTY));
    }

    /// Turns on the sites of `categories` and begins to record.
    ///
    /// Returns the wrapped count that begins.
    pub(crate) fn start(&mut self, categories: &Wanted) -> Option<u32> {
        remember_categories(categories);
        let key = self.strings.intern(&mut self.durable, "process").unwrap_or(StringRef::EMPTY);
        PROCESS_KEY.store(key.bits(), Ordering::Relaxed);
        let mut left_off = 0u64;
        for site in sites() {
            let wanted = site.category().is_empty() || categories.matches(site.category());
            let strings = |text| self.strings.intern(&mut self.durable, text);
            if wanted && site.turn_on(strings).is_none() {
                left_off += 1;
            } else if !wanted {
                site.turn_off();
            }
        }
        if left_off > 0 {
            self.tell_left_off(left_off);
        }
        RECORDER.start()
    }

    /// Says in the trace that sites are off because their strings found no room.
    fn tell_left_off(&mut self, number: u64) {
        let process = u64::from(std::process::id());
        let arguments = [Argument::new("number", Value::Uint64(number))];
        let event = Event {
            ticks: clock::ticks(),
            thread: Thread::Inline(ThreadKoids::new(process, process)),
            category: LossStrings::CATEGORY.into(),
            name: "trace points left off: no room for their names".into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Process) },
            arguments: (&arguments).into(),
        };
        let _full = append(&mut self.durable, &Record::from(event));
    }

    /// Ends recording, and says what threads lost. The sites stay as they are until they are off.
    pub(crate) fn stop(&mut self) {
        RECORDER.stop(PATIENCE);
        sites().iter().for_each(crate::point::site::Site::turn_off);
        RECORDER.tell_losses(&mut self.durable);
    }

    /// Bytes of the durable buffer that are written.
    pub(crate) fn durable_end(&self) -> u64 {
        self.durable.end()
    }

    /// Records the name of a thread, if a good part of the durable buffer is left for strings.
    pub(crate) fn name_thread(&mut self, layout: &Layout, thread: u32, name: &str) {
        let reserve = layout.durable_size() / 8 / 8;
        if self.durable.room() > reserve {
            let mut words = Vec::new();
            if super::names::thread_object(&mut words, thread, name).is_ok() {
                let _full = self.durable.append(&words);
            }
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop();
        RECORDER.end();
    }
}

fn remember_categories(categories: &Wanted) {
    // SAFETY: the pointer is null or came from `Box::leak` below.
    let old = unsafe { CATEGORIES.load(Ordering::Acquire).as_ref() };
    if old != Some(categories) {
        CATEGORIES.store(Box::leak(Box::new(categories.clone())), Ordering::Release);
    }
}

/// Bytes of the durable buffer that this program wants: its strings, and names for a few hundred threads.
pub(crate) fn durable_hint() -> u64 {
    const THREAD_NAMES: usize = 16 << 10;
    let texts: std::collections::HashSet<&str> = sites().iter().flat_map(|site| site.strings()).collect();
    let strings: usize = texts.into_iter().map(|text| 8 + text.len().next_multiple_of(8)).sum();
    (strings + strings / 4 + THREAD_NAMES + 1024) as u64
}
