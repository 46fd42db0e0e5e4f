//! Selects the records of a provider for one session, or for one sink of a session.
//!
//! Providers record the union of the categories. A category is compared with the patterns once,
//! when its string is registered; for an event, one bit is looked up. For a session that joined
//! while the provider recorded, the events before are left out by their timestamps.

mod counter;
mod losses;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use trace_format::layout::{
    event, large, large_blob, record, EventType, LargeBlobFormat, RecordType, StringRef,
};
use trace_format::notes;
use trace_protocol::buffer::consumer::{record_words, EarlierLosses};
use trace_protocol::categories::CategorySet;
use trace_protocol::words::as_bytes;

use self::counter::Counter;
pub(crate) use self::losses::LossReports;
use self::losses::{string_of, Change, EarlierReports};
use crate::records::{Records, Spares, SECTION};
use crate::window::Counts;

/// The number of earlier sets of categories that are kept.
const MAX_BEFORE: usize = 4;

/// The filter of one session or sink. Records of providers that were not added pass as they are.
#[derive(Debug, Clone)]
pub(crate) struct CategoryFilter {
    categories: Arc<CategorySet>,
    spares: Spares,
    providers: BTreeMap<u32, Provider>,
}

/// The state of one provider.
#[derive(Debug, Clone)]
struct Provider {
    categories: Arc<CategorySet>,
    /// A bit for each string index: set if the sink does not get that category.
    excluded: Box<[u64; 512]>,
    /// The categories before the last change.
    before: Option<Before>,
    /// Events before this time are left out; in the provider's ticks.
    from: u64,
    counter: Counter,
    /// Losses from before the session, if it joined late.
    earlier: Option<EarlierReports>,
}

/// The categories of a provider before a change.
#[derive(Debug, Clone)]
struct Before {
    /// The time of the change, in the provider's ticks.
    until: u64,
    /// Several if the changes were close together.
    categories: Vec<Arc<CategorySet>>,
    excluded: Box<[u64; 512]>,
}

impl CategoryFilter {
    pub(crate) fn new(categories: &[String], spares: Spares) -> Self {
        let categories = Arc::new(CategorySet::new(categories));
        Self { categories, spares, providers: BTreeMap::new() }
    }

    /// Starts to filter a provider's records: only events from the time `from` on pass.
    pub(crate) fn add(&mut self, provider: u32, from: u64) {
        self.insert(provider, from, Arc::clone(&self.categories));
    }

    /// Starts to filter a provider's records by categories of its own.
    pub(crate) fn add_with(&mut self, provider: u32, from: u64, categories: &[String]) {
        self.insert(provider, from, Arc::new(CategorySet::new(categories)));
    }

    fn insert(&mut self, provider: u32, from: u64, categories: Arc<CategorySet>) {
        let (excluded, counter) = (Box::new([0; 512]), Counter::default());
        let (before, earlier) = (None, None);
        let provider_state = Provider { categories, excluded, before, from, counter, earlier };
        self.providers.insert(provider, provider_state);
    }

    /// Leaves losses out that a provider had before the session, and reports later. Called before
    /// the first records.
    pub(crate) fn leave_out(&mut self, provider: u32, losses: EarlierLosses) {
        if let Some(state) = self.providers.get_mut(&provider).filter(|_| losses.total() != 0) {
            state.earlier = Some(EarlierReports::new(losses));
        }
    }

    /// Returns the number of losses that are left out and that a provider has not reported so far.
    pub(crate) fn earlier(&self, provider: u32) -> u64 {
        let earlier = self.providers.get(&provider).and_then(|state| state.earlier.as_ref());
        earlier.map_or(0, EarlierReports::total)
    }

    /// Starts to filter the records of a provider that has recorded `durable` records, of which all
    /// passed so far. Their counts are `counts`.
    pub(crate) fn add_late(
        &mut self,
        provider: u32,
        categories: &[String],
        durable: &[u64],
        counts: Counts,
    ) {
        self.add_with(provider, 0, categories);
        if let Some(state) = self.providers.get_mut(&provider) {
            select(state, durable, 0, &self.spares);
            state.counter.restart(counts);
        }
    }

    /// Changes the categories of a provider at the time `at`, in its ticks: earlier events are
    /// selected by the earlier categories, whenever they are collected. `durable` are its durable
    /// records so far.
    pub(crate) fn change(
        &mut self,
        provider: u32,
        at: u64,
        categories: &[String],
        durable: &[u64],
    ) {
        if let Some(state) = self.providers.get_mut(&provider) {
            state.change(at, Arc::new(CategorySet::new(categories)), durable);
        }
    }

    /// Returns whether a provider's records are filtered.
    pub(crate) fn has(&self, provider: u32) -> bool {
        self.providers.contains_key(&provider)
    }

    /// Returns the number of events of a provider that passed; `None` if it is not filtered.
    pub(crate) fn events(&self, provider: u32) -> Option<u64> {
        self.providers.get(&provider).map(|state| state.counter.events())
    }

    /// Removes a provider. Returns the counts of its records that passed.
    pub(crate) fn remove(&mut self, provider: u32) -> Option<Counts> {
        self.providers.remove(&provider).map(|state| state.counter.into_counts())
    }

    /// Returns the records without the events of other categories. If all stay, the words are
    /// shared.
    ///
    /// Strings, threads and objects stay, because later records may refer to them. Events of the
    /// category `trace` stay, because they report losses.
    pub(crate) fn select(&mut self, records: &Records) -> Records {
        let Some(state) = self.providers.get_mut(&records.provider) else { return records.clone() };
        match select(state, &records.words, SECTION, &self.spares) {
            Some(words) => Records { words: self.spares.share(words), ..records.clone() },
            None => records.clone(),
        }
    }

    /// Returns the selected words of a provider's records, which have no section record; `None` if
    /// all are selected.
    pub(crate) fn select_words(&mut self, provider: u32, words: &[u64]) -> Option<Vec<u64>> {
        select(self.providers.get_mut(&provider)?, words, 0, &self.spares)
    }
}

impl Provider {
    fn change(&mut self, at: u64, categories: Arc<CategorySet>, durable: &[u64]) {
        let categories = std::mem::replace(&mut self.categories, categories);
        let mut excluded = std::mem::replace(&mut self.excluded, Box::new([0; 512]));
        let mut categories = vec![categories];
        if let Some(before) = self.before.take() {
            excluded.iter_mut().zip(*before.excluded).for_each(|(word, before)| *word &= before);
            categories.extend(before.categories);
            categories.truncate(MAX_BEFORE);
        }
        let mut at_word = 0;
        while let Some(&header) = durable.get(at_word) {
            let size = record_words(header).unwrap_or(usize::MAX).min(durable.len() - at_word);
            if record::Type::get(header) == RecordType::String.bits() {
                let (index, text) = string_of(durable.get(at_word..at_word + size).unwrap_or(&[]));
                let is_match = matches(&self.categories, text);
                exclude(&mut self.excluded, index, !is_match);
                let was_match = !is_set(&excluded, index);
                self.counter.rename(index, text, is_match || was_match);
            }
            at_word += size;
        }
        self.before = Some(Before { until: at, categories, excluded });
    }

    /// Returns whether an event of this time and category is left out.
    #[inline]
    fn excludes(&self, ticks: u64, category: usize) -> bool {
        match &self.before {
            Some(before) if ticks < before.until => is_set(&before.excluded, category),
            _ => is_set(&self.excluded, category),
        }
    }

    /// Returns whether an event of this time and inline category is left out.
    fn excludes_inline(&self, ticks: u64, category: &[u8]) -> bool {
        match &self.before {
            Some(before) if ticks < before.until => !before.matches(category),
            _ => !matches(&self.categories, category),
        }
    }
}

impl Before {
    fn matches(&self, category: &[u8]) -> bool {
        self.categories.iter().any(|categories| matches(categories, category))
    }
}

/// Returns whether the bit of a string index is set.
#[inline]
fn is_set(bits: &[u64; 512], index: usize) -> bool {
    bits[index / 64 % 512] >> (index % 64) & 1 != 0
}

fn exclude(bits: &mut [u64; 512], index: usize, is_excluded: bool) {
    let (word, bit) = (&mut bits[index / 64 % 512], 1 << (index % 64));
    *word = if is_excluded { *word | bit } else { *word & !bit };
}

/// Returns the words of the selected records, with the first `start` words; `None` if all are
/// selected.
fn select(
    provider: &mut Provider,
    words: &[u64],
    start: usize,
    spares: &Spares,
) -> Option<Vec<u64>> {
    let mut kept: Option<Vec<u64>> = None;
    let (mut at, mut run) = (start, 0);
    while let Some(&header) = words.get(at) {
        let size = record_words(header).unwrap_or(usize::MAX).min(words.len() - at);
        let record = words.get(at..at + size).unwrap_or_default();
        if record::Type::get(header) == RecordType::String.bits() {
            register_string(provider, record);
        } else {
            let change = take_earlier(provider, record);
            if change == Change::Remove || is_excluded(provider, record) {
                let kept = kept.get_or_insert_with(|| spares.take());
                kept.extend_from_slice(words.get(run..at).unwrap_or_default());
                run = at + size;
            } else if let Change::Reduce(number) = change {
                let kept = kept.get_or_insert_with(|| spares.take());
                kept.extend_from_slice(words.get(run..at).unwrap_or_default());
                losses::reduce(record, number, provider.from, kept);
                run = at + size;
            }
        }
        at += size;
    }
    if let Some(kept) = &mut kept {
        kept.extend_from_slice(words.get(run..).unwrap_or_default());
    }
    kept
}

/// Takes the losses of a record out of those from before the session.
#[inline]
fn take_earlier(provider: &mut Provider, record: &[u64]) -> Change {
    let Some(earlier) = &mut provider.earlier else { return Change::None };
    let change = earlier.take(record);
    if change != Change::None && earlier.total() == 0 {
        provider.earlier = None;
    }
    change
}

/// Returns whether a record is an event that the sink does not get. Counts the record if it passes.
#[inline]
fn is_excluded(provider: &mut Provider, record: &[u64]) -> bool {
    let Some(event) = event_of(record) else {
        let is_earlier = time_of(record).is_some_and(|ticks| ticks < provider.from);
        if !is_earlier {
            provider.counter.add_other(record);
        }
        return is_earlier;
    };
    if event.ticks < provider.from {
        return true;
    }
    match event.category.inline_bytes() {
        None => {
            let index = usize::from(event.category.index().unwrap_or(0));
            if provider.excludes(event.ticks, index) {
                return true;
            }
            provider.counter.add_event(event.kind, index);
        }
        Some(length) => {
            let text = as_bytes(event.rest).get(..length).unwrap_or_default();
            if provider.excludes_inline(event.ticks, text) {
                return true;
            }
            provider.counter.add_inline(event.kind, text);
        }
    }
    false
}

/// The fields of a record with a category that the filter compares.
struct CategorizedEvent<'a> {
    category: StringRef,
    ticks: u64,
    /// `None` for a blob.
    kind: Option<EventType>,
    /// The words after the fixed part. An inline category is at their start.
    rest: &'a [u64],
}

/// Returns the fields of an event or of a blob with metadata.
#[inline]
fn event_of(record: &[u64]) -> Option<CategorizedEvent<'_>> {
    let [header, second, ..] = *record else { return None };
    let kind = record::Type::get(header);
    if kind == RecordType::Event.bits() {
        let thread = if event::ThreadRef::get(header) == 0 { 2 } else { 0 };
        Some(CategorizedEvent {
            category: StringRef::from_bits(event::CategoryRef::get(header) as u16),
            ticks: second,
            kind: EventType::from_bits(event::EventType::get(header)),
            rest: record.get(2 + thread..).unwrap_or_default(),
        })
    } else if kind == RecordType::Large.bits()
        && large::BlobFormat::get(header) == LargeBlobFormat::Event.bits()
    {
        let category = StringRef::from_bits(large_blob::CategoryRef::get(second) as u16);
        let name = StringRef::from_bits(large_blob::NameRef::get(second) as u16);
        let strings = [category, name].map(|text| text.inline_bytes().unwrap_or(0).div_ceil(8));
        let ticks = record.get(2 + strings[0] + strings[1]).copied().unwrap_or(u64::MAX);
        let rest = record.get(2..).unwrap_or_default();
        Some(CategorizedEvent { category, ticks, kind: None, rest })
    } else {
        None
    }
}

/// Returns the timestamp of a record that has one.
pub(crate) fn ticks_of(record: &[u64]) -> Option<u64> {
    event_of(record).map(|event| event.ticks).or_else(|| time_of(record))
}

/// Returns the timestamp of a log or scheduling record.
fn time_of(record: &[u64]) -> Option<u64> {
    let [header, ticks, ..] = *record else { return None };
    let timed = [RecordType::Log.bits(), RecordType::Scheduling.bits()];
    timed.contains(&record::Type::get(header)).then_some(ticks)
}

fn register_string(provider: &mut Provider, record: &[u64]) {
    let (index, text) = string_of(record);
    let mut is_match = matches(&provider.categories, text);
    exclude(&mut provider.excluded, index, !is_match);
    if let Some(before) = &mut provider.before {
        let was_match = before.matches(text);
        exclude(&mut before.excluded, index, !was_match);
        is_match |= was_match;
    }
    provider.counter.register(index, text, is_match);
    if let Some(earlier) = &mut provider.earlier {
        earlier.register(index, text);
    }
}

fn matches(categories: &CategorySet, category: &[u8]) -> bool {
    category == notes::CATEGORY.as_bytes()
        || std::str::from_utf8(category).is_ok_and(|category| categories.matches(category))
}
