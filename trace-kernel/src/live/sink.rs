//! The provider's buffer as a destination of records.

mod in_place;

use foldhash::HashMap;
use trace_format::encode::Encoding;
use trace_format::layout::{cut_str, InstantScope, MAX_STRING_BYTES};
use trace_format::notes::{Omission, CATEGORY};
use trace_format::record::ReferenceMut;
use trace_format::{
    Argument, Arguments, Event, EventKind, Log, Record, Text, Thread, ThreadKoids, Value,
    WriteError,
};
use trace_protocol::categories::CategorySet;
use trace_provider::Context;

use super::recent::Recent;
use crate::by_thread::ByThread;
use crate::fxt::{
    write_call, write_switch, write_wakeup, Label, RecordSink, Switch, SystemCall, Wakeup,
};
use in_place::CallParts;

/// The most arguments of a record.
const MAX_ARGUMENTS: usize = 15;

/// The state of the provider's records during one recording.
#[derive(Debug)]
pub(super) struct Tables {
    selected: CategorySet,
    /// Whether each category is selected.
    categories: HashMap<Box<[u8]>, bool>,
    /// The same of the newest ones.
    recent_categories: Recent<bool>,
    /// The same of those that are labels, by the label's number.
    label_categories: [Option<bool>; Label::ALL.len()],
    /// The indices of the newest strings.
    strings: Recent<u16>,
    /// The indices of labels, by the label's number.
    labels: [Option<u16>; Label::ALL.len()],
    calls: CallParts,
    /// The processes of threads, and how records refer to them.
    threads: ByThread<(u64, Thread)>,
}

/// Writes records to the provider's buffer.
#[derive(Debug)]
pub(super) struct ContextSink<'a, 'w> {
    context: Context<'w>,
    tables: &'a mut Tables,
    /// The number of scheduling records.
    pub(super) scheduling: u64,
    /// The number of samples of call stacks.
    pub(super) samples: u64,
    /// The number of lines of the kernel's log.
    pub(super) logs: u64,
}

impl Tables {
    pub(super) fn new(patterns: &[String]) -> Self {
        let selected = CategorySet::new(patterns);
        let (categories, recent_categories, strings, calls, threads) = Default::default();
        Self {
            selected,
            categories,
            recent_categories,
            label_categories: [None; Label::ALL.len()],
            strings,
            labels: [None; Label::ALL.len()],
            calls,
            threads,
        }
    }

    /// Forgets the threads and strings of the recording that has ended.
    pub(super) fn clear(&mut self) {
        self.threads.clear();
        self.calls = CallParts::default();
        self.strings.clear();
        self.labels = [None; Label::ALL.len()];
    }

    /// Returns whether the events of a category are recorded. Reports of missing events always are.
    fn is_selected(&mut self, category: &[u8]) -> bool {
        if let Some(is_selected) = self.recent_categories.get(category) {
            return is_selected;
        }
        let is_selected = self.search(category);
        self.recent_categories.insert(category, is_selected);
        is_selected
    }

    fn search(&mut self, category: &[u8]) -> bool {
        if let Some(is_selected) = self.categories.get(category) {
            return *is_selected;
        }
        let is_selected = std::str::from_utf8(category)
            .is_ok_and(|name| name.is_empty() || name == CATEGORY || self.selected.matches(name));
        self.categories.insert(category.into(), is_selected);
        is_selected
    }

    #[inline]
    fn is_label_selected(&mut self, label: Label) -> bool {
        if let Some(Some(is_selected)) = self.label_categories.get(label as usize) {
            return *is_selected;
        }
        let is_selected = self.is_selected(label.text().as_bytes());
        if let Some(place) = self.label_categories.get_mut(label as usize) {
            *place = Some(is_selected);
        }
        is_selected
    }
}

impl<'a, 'w> ContextSink<'a, 'w> {
    pub(super) fn new(context: Context<'w>, tables: &'a mut Tables) -> Self {
        Self { context, tables, scheduling: 0, samples: 0, logs: 0 }
    }

    /// Reports in the archive that a source has failed, with the error. Returns whether there was
    /// space for the event.
    pub(super) fn failed(&mut self, error: &str) -> bool {
        let (ticks, process) = (self.context.now(), u64::from(std::process::id()));
        let thread = Thread::Inline(ThreadKoids::new(process, process));
        let message = format!("events of the kernel are missing: {error}");
        let message = cut_str(&message, MAX_STRING_BYTES).as_bytes();
        self.context.write_durable(&Log { ticks, thread, message }.into());
        // The manager counts what an event with inline texts in the durable buffer reports.
        let arguments = [Argument::new(Omission::NUMBER, Value::Uint64(1))];
        let event = Event {
            ticks,
            thread,
            category: CATEGORY.into(),
            name: Omission::Sources.event().into(),
            kind: EventKind::Instant { scope: Some(InstantScope::Process) },
            arguments: (&arguments).into(),
        };
        self.context.write_durable(&event.into())
    }

    /// Returns the index of a text that is inline, if it can be registered.
    fn registered<'t>(&mut self, text: Text<'t>) -> Text<'t> {
        let Text::Inline(bytes) = text else { return text };
        match std::str::from_utf8(bytes) {
            Ok(text) => RecordSink::text(self, text),
            Err(_) => text,
        }
    }

    #[inline]
    fn thread(&mut self, thread: Thread) -> Thread {
        let Thread::Inline(koids) = thread else { return thread };
        match self.tables.threads.get_mut(koids.thread) {
            Some((process, thread)) if *process == koids.process => *thread,
            _ => self.register_thread(koids),
        }
    }

    #[cold]
    fn register_thread(&mut self, koids: ThreadKoids) -> Thread {
        let thread = self.context.thread(koids.process, koids.thread);
        // The other threads are inline, because the table is full.
        if matches!(thread, Thread::Indexed(_)) {
            self.tables.threads.insert(koids.thread, (koids.process, thread));
        }
        thread
    }

    #[cold]
    fn find_label(&mut self, label: Label) -> Text<'static> {
        let text = self.text(label.text());
        if let (Text::Indexed(index), Some(place)) =
            (text, self.tables.labels.get_mut(label as usize))
        {
            *place = Some(index);
        }
        text
    }

    /// Writes a record whose strings and threads are registered. If the buffer is full, the record
    /// is counted as lost.
    fn write(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        let is_durable =
            matches!(record, Record::KernelObject(_) | Record::Module(_) | Record::Mmap(_));
        // A full durable buffer has no space for it.
        if is_durable && self.context.write_durable(record) {
            return Ok(());
        }
        let is_written = self.context.write_unchecked(&Encoding::new(record)?);
        let is_scheduling = matches!(record, Record::ContextSwitch(_) | Record::ThreadWakeup(_));
        self.scheduling += u64::from(is_written && is_scheduling);
        self.samples += u64::from(is_written && matches!(record, Record::Backtrace(_)));
        self.logs += u64::from(is_written && matches!(record, Record::Log(_)));
        Ok(())
    }
}

/// Returns whether the name of an argument is a text that can be registered.
fn has_inline_names(arguments: &Arguments<'_>) -> bool {
    arguments.iter().any(|it| matches!(it.name, Text::Inline(name) if !name.is_empty()))
}

impl RecordSink for ContextSink<'_, '_> {
    fn record(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        let mut record = *record;
        if let Record::Event(event) = &record {
            // The others were selected when they were registered.
            if let Text::Inline(category) = event.category {
                if !self.tables.is_selected(category) {
                    return Ok(());
                }
            }
        }
        record.references_mut(|reference| match reference {
            ReferenceMut::Text(text) => *text = self.registered(*text),
            ReferenceMut::Thread(thread) => *thread = self.thread(*thread),
            ReferenceMut::Process(_) => {}
        });
        let arguments = record.arguments();
        if !has_inline_names(&arguments) {
            return self.write(&record);
        }
        let (mut list, mut count) = ([Argument::new(Text::EMPTY, Value::Null); MAX_ARGUMENTS], 0);
        for (place, argument) in list.iter_mut().zip(&arguments) {
            *place = Argument { name: self.registered(argument.name), ..argument };
            count += 1;
        }
        if let Some(arguments) = record.arguments_mut() {
            *arguments = list.get(..count).unwrap_or_default().into();
        }
        self.write(&record)
    }

    #[inline]
    fn call(&mut self, call: &SystemCall) -> Result<(), WriteError> {
        if !self.tables.is_label_selected(Label::Syscall) {
            return Ok(());
        }
        match self.call_in_place(call) {
            Some(()) => Ok(()),
            None => write_call(self, call),
        }
    }

    #[inline]
    fn switch(&mut self, switch: &Switch) -> Result<(), WriteError> {
        match self.switch_in_place(switch) {
            Some(()) => Ok(()),
            None => write_switch(self, switch, None),
        }
    }

    #[inline]
    fn wakeup(&mut self, wakeup: &Wakeup) -> Result<(), WriteError> {
        match self.wakeup_in_place(wakeup) {
            Some(()) => Ok(()),
            None => write_wakeup(self, wakeup, None),
        }
    }

    fn text<'t>(&mut self, text: &'t str) -> Text<'t> {
        if text.is_empty() {
            return Text::EMPTY;
        }
        if let Some(index) = self.tables.strings.get(text.as_bytes()) {
            return Text::Indexed(index);
        }
        let found = self.context.string(text);
        if let Text::Indexed(index) = found {
            self.tables.strings.insert(text.as_bytes(), index);
        }
        found
    }

    #[inline]
    fn label(&mut self, label: Label) -> Text<'static> {
        match self.tables.labels.get(label as usize) {
            Some(Some(index)) => Text::Indexed(*index),
            _ => self.find_label(label),
        }
    }

    fn category(&mut self, category: Label) -> Option<Text<'static>> {
        self.tables.is_label_selected(category).then(|| self.label(category))
    }
}
