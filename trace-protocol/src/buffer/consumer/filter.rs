//! Which records of a provider reach the archive, and in what form.

use trace_format::layout::{
    argument, event, kernel_object, record, string, EventType, RecordType, StringRef,
    MAX_ARGUMENTS, MAX_RECORD_WORDS,
};

use crate::buffer::producer::{wrapped_count_of_mark, LossStrings};
use crate::words::as_bytes;

use super::category_counts::CategoryCounts;
use super::check::{check, Tables};
use super::frame::record_words;
use super::functions::Functions;
use super::losses::Reports;
use super::omitted;
use super::ownership::{process_argument, IdentityPolicy, Lack, Ownership, PROCESS_ARGUMENT};
use super::stats::{Rejection, Stats};

/// Checks the records of a provider, one after another, over the whole session.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    tables: Tables,
    ownership: Ownership,
    pub(super) stats: Stats,
    /// Events by the string index of their category.
    pub(super) events_by_category: Vec<u64>,
    /// Events by category, where the category is in the record.
    pub(super) inline_categories: CategoryCounts,
    /// Registered strings, to recognize loss records and categories by their names.
    pub(super) strings: Vec<Option<Box<str>>>,
    /// The last header that was found good and says all there is to say about its record.
    plain: u64,
    plain_words: usize,
    /// The first wrapped count whose begins are read, if scopes of a circular buffer are put
    /// together again.
    pub(super) kept_from: Option<u32>,
    /// What events report of losses.
    pub(super) reports: Reports,
    /// If chunks may have function records.
    functions: Option<Functions>,
}

/// What becomes of a record that is well-formed.
enum Verdict {
    Keep,
    /// Without the words behind this many.
    Cut(usize),
    /// Without the words behind this many, and with an argument that names this process.
    AddProcess(usize, u64),
    Drop,
}

impl Filter {
    /// Makes a filter for a provider that may write records about whom `policy` says, and function
    /// records if they are permitted.
    pub(super) fn new(policy: IdentityPolicy, function_records: bool) -> Self {
        Self {
            tables: Tables::new(),
            ownership: Ownership::new(policy),
            stats: Stats::default(),
            events_by_category: Vec::new(),
            inline_categories: CategoryCounts::default(),
            strings: Vec::new(),
            plain: 0,
            plain_words: 0,
            kept_from: None,
            reports: Reports::default(),
            functions: function_records.then(Functions::default),
        }
    }

    /// Appends the well-formed records of a chunk to `out`.
    pub(super) fn filter_chunk(&mut self, words: &mut [u64], out: &mut Vec<u64>) {
        let Some(mut functions) = self.functions.take() else { return self.filter(words, out) };
        functions.begin_chunk();
        let mut rest: &[u64] = words;
        while !rest.is_empty() {
            rest = functions.expand(rest);
            self.filter(&mut functions.words, out);
        }
        self.stats.rejected[Rejection::Content as usize] += functions.malformed;
        self.functions = Some(functions);
    }

    /// Appends the well-formed records of one run of records to `out`: a chunk without function
    /// records, or what is new in the durable buffer.
    pub(super) fn filter(&mut self, words: &mut [u64], out: &mut Vec<u64>) {
        let (mut at, mut run) = (0, 0);
        while let Some(&header) = words.get(at).filter(|header| **header != 0) {
            if header == self.plain && self.plain_words <= words.len() - at {
                // Most records look like the one before.
                at += self.plain_words;
                self.stats.records += 1;
                self.count_event(header);
                continue;
            }
            let size = record_words(header);
            let Some(record) = size.and_then(|size| words.get_mut(at..at + size)) else {
                self.reject(Rejection::Framing);
                break;
            };
            let size = record.len();
            match self.judge(record) {
                Verdict::Keep => {}
                Verdict::Cut(kept) => {
                    out.extend_from_slice(&words[run..at + kept]);
                    run = at + size;
                }
                Verdict::AddProcess(kept, process) => {
                    out.extend_from_slice(&words[run..at + kept]);
                    out.extend(process_argument(process));
                    run = at + size;
                }
                Verdict::Drop => {
                    out.extend_from_slice(&words[run..at]);
                    run = at + size;
                }
            }
            at += size;
        }
        out.extend_from_slice(&words[run..at]);
    }

    fn judge(&mut self, record: &mut [u64]) -> Verdict {
        if !self.ownership.admits(record[0]) {
            self.reject(Rejection::Foreign);
            return Verdict::Drop;
        }
        let appended = match check(&mut self.tables, record) {
            Ok(appended) => appended,
            Err(rejection) => {
                self.reject(rejection);
                return Verdict::Drop;
            }
        };
        match self.ownership.claim(record, &self.strings) {
            Ok(Lack::Nothing) => self.stats.records += 1,
            Ok(Lack::Process(process)) => return self.add_process(record, appended, process),
            Err(rejection) => {
                self.reject(rejection);
                return Verdict::Drop;
            }
        }
        match RecordType::from_bits(record::Type::get(record[0])) {
            Some(RecordType::Initialization) => self.take_clock(record),
            Some(RecordType::String) => self.learn_string(record),
            Some(RecordType::Thread) => Verdict::Keep,
            Some(RecordType::Event) => self.judge_event(record, appended),
            // Threads and processes are named by kernel objects.
            Some(RecordType::KernelObject) => Verdict::Keep,
            _ => {
                self.stats.others += 1;
                Verdict::Keep
            }
        }
    }

    /// Makes room in the header of a kernel object for one more argument.
    fn add_process(&mut self, record: &mut [u64], appended: usize, process: u64) -> Verdict {
        let kept = record.len() - appended;
        let (words, count) =
            (kept + PROCESS_ARGUMENT, kernel_object::ArgumentCount::get(record[0]) + 1);
        if words > MAX_RECORD_WORDS || count > MAX_ARGUMENTS as u64 {
            self.reject(Rejection::Foreign);
            return Verdict::Drop;
        }
        let header = record::Size::set(record[0], words as u64);
        record[0] = kernel_object::ArgumentCount::set(header, count);
        self.stats.records += 1;
        Verdict::AddProcess(kept, process)
    }

    /// The manager writes the initialization record itself.
    fn take_clock(&mut self, record: &[u64]) -> Verdict {
        self.stats.records -= 1;
        self.stats.ticks_per_second = record.get(1).copied();
        Verdict::Drop
    }

    fn learn_string(&mut self, record: &[u64]) -> Verdict {
        // What is known of an event by its header alone may have been about another string.
        (self.plain, self.plain_words) = (0, 0);
        let index = string::Index::get(record[0]) as usize;
        let length = string::Length::get(record[0]) as usize;
        let text =
            as_bytes(&record[1..]).get(..length).and_then(|bytes| core::str::from_utf8(bytes).ok());
        if self.strings.len() <= index {
            self.strings.resize(index + 1, None);
            self.events_by_category.resize(index + 1, 0);
        }
        let old = std::mem::replace(&mut self.strings[index], text.and_then(CategoryCounts::name));
        if let Some(old) = old.filter(|old| Some(&**old) != text) {
            // The index means another category now.
            let count = std::mem::take(&mut self.events_by_category[index]);
            self.inline_categories.add(&old, count);
        }
        Verdict::Keep
    }

    fn judge_event(&mut self, record: &mut [u64], appended: usize) -> Verdict {
        let header = record[0];
        self.count_inline_category(record);
        let kind = EventType::from_bits(event::EventType::get(header));
        match (kind, appended) {
            (Some(EventType::DurationBegin), 1) => return self.keep_open_scope(record),
            (Some(EventType::DurationComplete), 1) if is_late_complete(header) => {
                return self.keep_late_scope(record)
            }
            (Some(EventType::Instant), _) => {
                self.learn_loss(record);
                omitted::learn(record, &mut self.stats.omitted);
            }
            _ => {}
        }
        self.count_event(header);
        self.stats.last_ticks = self.stats.last_ticks.max(record.get(1).copied().unwrap_or(0));
        if appended == 0 && kind != Some(EventType::DurationBegin) && says_all(header) {
            (self.plain, self.plain_words) = (header, record.len());
        }
        Verdict::Keep
    }

    /// A scope that is open, or that ended after its rolling buffer was handed over.
    fn keep_open_scope(&mut self, record: &mut [u64]) -> Verdict {
        self.cut(record, record.len() - 1)
    }

    /// A scope whose end comes in a later wrap of a circular buffer than its begin: an end where
    /// the begin was kept, else a complete.
    fn keep_late_scope(&mut self, record: &mut [u64]) -> Verdict {
        let kept = record.len() - 1;
        let [header, start, behind @ .., mark] = record else { return Verdict::Keep };
        let begun = wrapped_count_of_mark(*mark);
        if self.kept_from.is_some_and(|first| begun.is_some_and(|begun| begun >= first)) {
            // The time of the end, which is the last word, becomes the timestamp; an argument stays
            // where it is.
            *start = behind.last().copied().unwrap_or(*start);
            *header = event::EventType::set(*header, EventType::DurationEnd.bits());
            return self.cut(record, kept - 1);
        }
        self.cut(record, kept)
    }

    /// Keeps `words` words of an event.
    fn cut(&mut self, record: &mut [u64], words: usize) -> Verdict {
        if let Some(header) = record.first_mut() {
            *header = record::Size::set(*header, words as u64);
            self.count_event(*header);
        }
        Verdict::Cut(words)
    }

    /// Learns what an event reports of losses.
    fn learn_loss(&mut self, record: &[u64]) {
        let header = record[0];
        if event::ArgumentCount::get(header) != 4
            || self.string(event::NameRef::get(header)) != Some(LossStrings::NAME)
            || self.string(event::CategoryRef::get(header)) != Some(LossStrings::CATEGORY)
        {
            return;
        }
        let inline = event::ThreadRef::get(header) == 0;
        let arguments = record.get(if inline { 4 } else { 2 }..).unwrap_or(&[]);
        let [reason, _, number, _, from, ..] = *arguments else { return };
        self.stats.reported_losses = self.stats.reported_losses.saturating_add(number);
        let thread = record.get(3).copied().filter(|_| inline);
        let reason = self.string(argument::ValueRef::get(reason)).map(str::to_owned);
        if let (Some(thread), Some(reason)) = (thread, reason) {
            self.reports.add(thread, &reason, number, from);
        }
    }

    fn string(&self, index: u64) -> Option<&str> {
        self.strings.get(index as usize)?.as_deref()
    }

    #[inline]
    fn count_event(&mut self, header: u64) {
        self.stats.events += 1;
        let kind = event::EventType::get(header);
        self.stats.begins += u64::from(kind == EventType::DurationBegin.bits());
        self.stats.ends += u64::from(kind == EventType::DurationEnd.bits());
        let category = event::CategoryRef::get(header) as usize;
        if let Some(count) = self.events_by_category.get_mut(category) {
            *count += 1;
        }
    }

    /// Counts an event whose category is in its record.
    fn count_inline_category(&mut self, record: &[u64]) {
        let category = StringRef::from_bits(event::CategoryRef::get(record[0]) as u16);
        let Some(length) = category.inline_bytes() else { return };
        let start = if event::ThreadRef::get(record[0]) == 0 { 4 } else { 2 };
        let bytes = record.get(start..).and_then(|words| as_bytes(words).get(..length));
        if let Some(name) = bytes.and_then(|bytes| core::str::from_utf8(bytes).ok()) {
            self.inline_categories.add(name, 1);
        }
    }

    fn reject(&mut self, rejection: Rejection) {
        self.stats.rejected[rejection as usize] += 1;
    }
}

/// Whether the header is that of a scope that ended late: of an indexed thread, with no argument,
/// or with one of one word.
fn is_late_complete(header: u64) -> bool {
    let arguments = event::ArgumentCount::get(header);
    event::EventType::get(header) == EventType::DurationComplete.bits()
        && arguments <= 1
        && record::Size::get(header) == 4 + arguments
        && event::ThreadRef::get(header) != 0
}

/// Whether nothing behind an event's header needs a look: no argument, and no inline thread or
/// string.
fn says_all(header: u64) -> bool {
    let inline = |bits: u64| StringRef::from_bits(bits as u16).inline_bytes().is_some();
    event::ArgumentCount::get(header) == 0
        && event::ThreadRef::get(header) != 0
        && !inline(event::CategoryRef::get(header))
        && !inline(event::NameRef::get(header))
}
