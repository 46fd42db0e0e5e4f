//! Reports of losses from before a session.
//!
//! A thread reports its losses when it has space again. A session that has joined meanwhile gets
//! the report, and would count losses that it does not have, or that it has reported already when
//! it left the provider before.

use std::collections::BTreeMap;

use trace_format::layout::{argument, event, record, string, RecordType};
use trace_format::notes;
use trace_protocol::buffer::consumer::EarlierLosses;
use trace_protocol::buffer::producer::LossReason;
use trace_protocol::words::as_bytes;

/// The word of a report's number: its arguments are reason, number, begin and end, after an inline
/// thread.
const NUMBER: usize = 4 + 2;

/// Recognizes the reports of losses of a provider.
#[derive(Debug, Clone, Default)]
pub(crate) struct LossReports {
    /// The texts of reports, by the index of the string.
    strings: BTreeMap<usize, Text>,
}

/// The losses of a provider from before the session that it has not reported.
#[derive(Debug, Clone)]
pub(super) struct EarlierReports {
    losses: EarlierLosses,
    reports: LossReports,
}

/// A string of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Category,
    Name,
    Reason(LossReason),
}

/// Appends a report with another number of losses, none of which is before `from`.
pub(super) fn reduce(report: &[u64], number: u64, from: u64, out: &mut Vec<u64>) {
    const BEGIN: usize = NUMBER + 2;
    out.extend(report.iter().enumerate().map(|(index, word)| match index {
        NUMBER => number,
        BEGIN => from.max(*word),
        _ => *word,
    }));
}

/// The effect of the earlier losses on a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It reports later losses only, or none.
    None,
    /// It reports earlier losses only.
    Remove,
    /// It reports so many later losses.
    Reduce(u64),
}

impl LossReports {
    /// Registers a record, if it is a string.
    pub(crate) fn register(&mut self, record: &[u64]) {
        if record.first().is_some_and(|it| record::Type::get(*it) == RecordType::String.bits()) {
            let (index, text) = string_of(record);
            self.register_string(index, text);
        }
    }

    fn register_string(&mut self, index: usize, text: &[u8]) {
        let reason = LossReason::ALL.into_iter().find(|it| it.as_str().as_bytes() == text);
        let text = match reason {
            Some(reason) => Some(Text::Reason(reason)),
            None if text == notes::CATEGORY.as_bytes() => Some(Text::Category),
            None if text == notes::RECORDS_DROPPED.as_bytes() => Some(Text::Name),
            None => None,
        };
        match text {
            Some(text) => drop(self.strings.insert(index, text)),
            None => drop(self.strings.remove(&index)),
        }
    }

    /// Returns the number of losses that a record reports.
    pub(crate) fn number(&self, record: &[u64]) -> u64 {
        self.report(record).map_or(0, |(_, _, number)| number)
    }

    /// Returns the thread, the reason and the number of a report.
    fn report(&self, words: &[u64]) -> Option<(u32, LossReason, u64)> {
        let header = *words.first()?;
        let is_report = record::Type::get(header) == RecordType::Event.bits()
            && event::ArgumentCount::get(header) == 4
            && event::ThreadRef::get(header) == 0
            && self.text(event::NameRef::get(header)) == Some(Text::Name)
            && self.text(event::CategoryRef::get(header)) == Some(Text::Category);
        if !is_report {
            return None;
        }
        let (thread, reason, number) = (*words.get(3)?, *words.get(4)?, *words.get(NUMBER)?);
        match self.text(argument::ValueRef::get(reason)) {
            Some(Text::Reason(reason)) => Some((u32::try_from(thread).ok()?, reason, number)),
            _ => None,
        }
    }

    fn text(&self, index: u64) -> Option<Text> {
        self.strings.get(&usize::try_from(index).ok()?).copied()
    }
}

impl EarlierReports {
    pub(super) fn new(losses: EarlierLosses) -> Self {
        Self { losses, reports: LossReports::default() }
    }

    /// Registers a string of the provider.
    pub(super) fn register(&mut self, index: usize, text: &[u8]) {
        self.reports.register_string(index, text);
    }

    /// Returns the number of those that are not reported.
    pub(super) fn total(&self) -> u64 {
        self.losses.total()
    }

    /// Takes the losses out that a record reports.
    pub(super) fn take(&mut self, record: &[u64]) -> Change {
        let Some((thread, reason, number)) = self.reports.report(record) else {
            return Change::None;
        };
        match self.losses.take(thread, reason, number) {
            0 if number != 0 => Change::Remove,
            later if later != number => Change::Reduce(later),
            _ => Change::None,
        }
    }
}

/// Returns the index and the text of a string record.
pub(super) fn string_of(record: &[u64]) -> (usize, &[u8]) {
    let [header, text @ ..] = record else { return (0, &[]) };
    let text = as_bytes(text).get(..string::Length::get(*header) as usize).unwrap_or_default();
    (string::Index::get(*header) as usize, text)
}
