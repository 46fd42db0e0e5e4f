//! Counts the records that pass a filter.

use std::collections::BTreeMap;

use trace_format::layout::{record, EventType, RecordType};
use trace_protocol::buffer::consumer::CategoryCounts;

use crate::window::Counts;

/// The counts of one provider.
#[derive(Debug, Clone, Default)]
pub(super) struct Counter {
    /// Counts from before the filter.
    before: Counts,
    records: u64,
    events: u64,
    others: u64,
    begins: u64,
    ends: u64,
    /// Events by the string index of their category.
    by_index: Vec<u64>,
    /// Names of strings that may be categories.
    names: BTreeMap<usize, Box<str>>,
    inline: CategoryCounts,
}

impl Counter {
    /// Counts from zero again, and adds `before`.
    pub(super) fn restart(&mut self, before: Counts) {
        *self = Self { before, names: std::mem::take(&mut self.names), ..Self::default() };
    }

    pub(super) fn events(&self) -> u64 {
        self.before.events + self.events
    }

    /// Registers a string. If its index had another text, the events so far have that category.
    pub(super) fn register(&mut self, index: usize, text: &[u8], is_category: bool) {
        self.records += 1;
        let text = std::str::from_utf8(text).ok().filter(|_| is_category);
        let old = match text.and_then(CategoryCounts::name) {
            Some(name) => self.names.insert(index, name),
            None => self.names.remove(&index),
        };
        let count = self.by_index.get_mut(index).map_or(0, std::mem::take);
        if let Some(old) = old.filter(|_| count != 0) {
            self.inline.add(&old, count);
        }
    }

    /// Registers a string again, after the categories have changed. It is not a further record.
    pub(super) fn rename(&mut self, index: usize, text: &[u8], is_category: bool) {
        let records = self.records;
        self.register(index, text, is_category);
        self.records = records;
    }

    #[inline]
    pub(super) fn add_event(&mut self, kind: Option<EventType>, category: usize) {
        self.count(kind);
        if self.by_index.len() <= category {
            self.by_index.resize(category + 1, 0);
        }
        self.by_index[category] += u64::from(kind.is_some());
    }

    pub(super) fn add_inline(&mut self, kind: Option<EventType>, category: &[u8]) {
        self.count(kind);
        if let (Some(_), Ok(name)) = (kind, std::str::from_utf8(category)) {
            self.inline.add(name, 1);
        }
    }

    /// Counts a record without a category.
    pub(super) fn add_other(&mut self, record: &[u64]) {
        let kind = record.first().and_then(|it| RecordType::from_bits(record::Type::get(*it)));
        self.records += 1;
        let is_name = matches!(
            kind,
            Some(RecordType::String | RecordType::Thread | RecordType::KernelObject)
        );
        self.others += u64::from(!is_name);
    }

    #[inline]
    fn count(&mut self, kind: Option<EventType>) {
        self.records += 1;
        match kind {
            Some(kind) => {
                self.events += 1;
                self.begins += u64::from(kind == EventType::DurationBegin);
                self.ends += u64::from(kind == EventType::DurationEnd);
            }
            None => self.others += 1,
        }
    }

    pub(super) fn into_counts(self) -> Counts {
        let mut counts = self.before;
        let categories = &mut counts.categories;
        let registered = self.by_index.into_iter().enumerate().filter(|(_, number)| *number != 0);
        for (index, number) in registered {
            let name = self.names.get(&index).map_or("", |name| name);
            *categories.entry(name.to_owned()).or_default() += number;
        }
        for (name, number) in self.inline.iter() {
            *categories.entry(name.to_owned()).or_default() += number;
        }
        counts.records += self.records;
        counts.events += self.events;
        counts.others += self.others;
        counts.open_scopes = (counts.open_scopes + self.begins).saturating_sub(self.ends);
        counts
    }
}
