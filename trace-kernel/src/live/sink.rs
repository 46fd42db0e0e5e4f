//! The provider's buffer as a destination of records.

use std::sync::atomic::Ordering;

use foldhash::HashMap;
use trace_format::encode::Encoding;
use trace_format::layout::{
    argument_header, event_header, ArgumentType, EventType, StringRef, ThreadRef,
};
use trace_format::notes::CATEGORY;
use trace_format::record::ReferenceMut;
use trace_format::{Argument, Arguments, Record, Text, Thread, ThreadKoids, Value, WriteError};
use trace_protocol::categories::CategorySet;
use trace_provider::Context;

use super::recent::Recent;
use crate::fxt::{write_as_event, Label, Number, NumbersDuration, RecordSink};

/// The most arguments of a record.
const MAX_ARGUMENTS: usize = 15;

/// The most numbers of a duration that is stored in place.
const MAX_NUMBERS: usize = 8;

/// The words of a number: header and value.
const NUMBER_WORDS: usize = 2;

/// The words of a duration without arguments: header, begin and end.
const EVENT_WORDS: usize = 3;

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
    threads: HashMap<ThreadKoids, Thread>,
    /// The last one of them that was used.
    last_thread: Option<(ThreadKoids, Thread)>,
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
}

impl Tables {
    pub(super) fn new(patterns: &[String]) -> Self {
        let selected = CategorySet::new(patterns);
        let (categories, recent_categories, strings, threads) = Default::default();
        Self {
            selected,
            categories,
            recent_categories,
            label_categories: [None; Label::ALL.len()],
            strings,
            labels: [None; Label::ALL.len()],
            threads,
            last_thread: None,
        }
    }

    /// Forgets the threads and strings of the recording that has ended.
    pub(super) fn clear(&mut self) {
        self.threads.clear();
        self.last_thread = None;
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
        Self { context, tables, scheduling: 0, samples: 0 }
    }

    /// Returns the index of a text that is inline, if it can be registered.
    fn registered<'t>(&mut self, text: Text<'t>) -> Text<'t> {
        let Text::Inline(bytes) = text else { return text };
        match std::str::from_utf8(bytes) {
            Ok(text) => RecordSink::text(self, text),
            Err(_) => text,
        }
    }

    fn thread(&mut self, thread: Thread) -> Thread {
        let Thread::Inline(koids) = thread else { return thread };
        match self.tables.last_thread {
            Some((last, thread)) if last == koids => return thread,
            _ => {}
        }
        if let Some(thread) = self.tables.threads.get(&koids) {
            self.tables.last_thread = Some((koids, *thread));
            return *thread;
        }
        let thread = self.context.thread(koids.process, koids.thread);
        // The other threads are inline, because the table is full.
        if matches!(thread, Thread::Indexed(_)) {
            self.tables.threads.insert(koids, thread);
        }
        thread
    }

    /// Stores a duration in the buffer, or counts it as lost. Returns `None` if its thread or one
    /// of its texts has no index.
    fn numbers_in_place(&mut self, duration: &NumbersDuration<'_>) -> Option<()> {
        let NumbersDuration { start, end, thread, category, name, arguments } = *duration;
        debug_assert!(arguments.len() <= MAX_NUMBERS, "there are headers for no more");
        let Some(category) = RecordSink::category(self, category) else { return Some(()) };
        let (category, name) = (index(category)?, index(RecordSink::text(self, name))?);
        let Thread::Indexed(thread) = self.thread(Thread::Inline(thread)) else { return None };
        let mut headers = [0; MAX_NUMBERS];
        for (header, (label, number)) in headers.iter_mut().zip(arguments) {
            let number_type = match number {
                Number::Signed(_) => ArgumentType::Int64,
                Number::Unsigned(_) => ArgumentType::Uint64,
            };
            let name = index(RecordSink::label(self, *label))?;
            *header = argument_header(number_type, NUMBER_WORDS, name);
        }
        let count = arguments.len().min(MAX_NUMBERS);
        let words = EVENT_WORDS + NUMBER_WORDS * count;
        let (event_type, thread) = (EventType::DurationComplete, ThreadRef::from_bits(thread));
        let event = event_header(event_type, words, count, thread, category, name);
        let Some(open) = self.context.reserve(words) else { return Some(()) };
        let mut places = open.words().iter().skip(1);
        let mut store = |word| {
            if let Some(place) = places.next() {
                place.store(word, Ordering::Relaxed);
            }
        };
        store(start);
        for (header, (_, number)) in headers.iter().zip(arguments) {
            store(*header);
            store(match number {
                Number::Signed(number) => *number as u64,
                Number::Unsigned(number) => *number,
            });
        }
        store(end);
        open.commit(event);
        Some(())
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
        Ok(())
    }
}

/// Returns the ref of a registered text.
fn index(text: Text<'_>) -> Option<StringRef> {
    match text {
        Text::Indexed(index) => Some(StringRef::indexed(index)),
        Text::Inline(_) => None,
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

    fn numbers(&mut self, duration: &NumbersDuration<'_>) -> Result<(), WriteError> {
        match self.numbers_in_place(duration) {
            Some(()) => Ok(()),
            None => write_as_event(self, duration),
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

    fn label(&mut self, label: Label) -> Text<'static> {
        if let Some(Some(index)) = self.tables.labels.get(label as usize) {
            return Text::Indexed(*index);
        }
        let text = self.text(label.text());
        if let (Text::Indexed(index), Some(place)) =
            (text, self.tables.labels.get_mut(label as usize))
        {
            *place = Some(index);
        }
        text
    }

    fn category(&mut self, category: Label) -> Option<Text<'static>> {
        self.tables.is_label_selected(category).then(|| self.label(category))
    }
}
