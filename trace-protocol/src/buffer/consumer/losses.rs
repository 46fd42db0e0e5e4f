//! What the loss table says, and what is left of it beyond the events that report losses.

use std::collections::HashMap;

use crate::buffer::header::{loss_entry, BufferingMode, Layout};
use crate::buffer::memory::ReadMapping;
use crate::buffer::producer::LossReason;
use crate::sync::Ordering;

/// Records of a provider that are lost, and that no event in the archive reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreported {
    /// Why.
    pub reason: LossReason,
    /// The thread; `None` for several, of which the loss table has no entry.
    pub thread: Option<u32>,
    /// How many.
    pub number: u64,
    /// Ticks of the first of them.
    pub from: u64,
    /// Ticks of the last of them, or a later time before which they were lost.
    pub to: u64,
}

/// A copy of the loss table. Each number in it is the provider's claim.
#[derive(Clone, Debug, Default)]
pub(super) struct LossTable(Vec<Entry>);

/// An entry that counts something.
#[derive(Clone, Copy, Debug)]
struct Entry {
    reason: LossReason,
    /// 0 for several.
    thread: u32,
    number: u64,
    first: u64,
    last: u64,
    reported: u64,
    from: u64,
}

/// What events report, by thread and reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports(HashMap<(u32, LossReason), Report>);

/// The events of one thread and reason.
#[derive(Clone, Copy, Debug)]
struct Report {
    number: u64,
    /// Ticks of the first loss of the first of them.
    from: u64,
}

impl LossTable {
    /// Copies the loss table.
    pub(super) fn copy(mapping: &ReadMapping, layout: &Layout) -> Self {
        let start = layout.losses_start();
        let end = start + layout.loss_entries() * loss_entry::WORDS;
        let words = mapping.words().get(start..end).unwrap_or(&[]);
        let entries = words.chunks_exact(loss_entry::WORDS).filter_map(|entry| {
            // Acquired: behind the number that is seen, the times are.
            let word = |index: usize| entry.get(index).map_or(0, |it| it.load(Ordering::Acquire));
            let number = word(loss_entry::NUMBER);
            let id = word(loss_entry::ID);
            let reason = usize::try_from((id >> 32).checked_sub(1)?).ok()?;
            let reason = LossReason::ALL.get(reason).copied()?;
            let (first, last) = (word(loss_entry::FIRST), word(loss_entry::LAST));
            let (reported, from) = (word(loss_entry::REPORTED), word(loss_entry::FROM));
            let thread = id as u32;
            let entry = Entry { reason, thread, number, first, last, reported, from };
            (number != 0).then_some(entry)
        });
        Self(entries.collect())
    }

    /// Records lost.
    pub(super) fn total(&self) -> u64 {
        self.0.iter().fold(0, |total, entry| total.saturating_add(entry.number))
    }

    /// Returns the losses by reason, without reasons that did not occur.
    pub(super) fn by_reason(&self) -> Vec<(LossReason, u64)> {
        let number = |reason| {
            let entries = self.0.iter().filter(|entry| entry.reason == reason);
            entries.fold(0, |sum: u64, entry| sum.saturating_add(entry.number))
        };
        let losses = LossReason::ALL.into_iter().map(|reason| (reason, number(reason)));
        losses.filter(|(_, number)| *number != 0).collect()
    }

    /// What is lost beyond what events report, of which `reports` are those that were read.
    pub(super) fn unreported(&self, reports: &Reports, mode: BufferingMode) -> Vec<Unreported> {
        let overwrites = mode == BufferingMode::Circular;
        let entries = self.0.iter();
        entries
            .flat_map(|entry| entry.unreported(self.read_of(entry, reports), overwrites))
            .collect()
    }

    /// What the events that were read report of this entry.
    fn read_of(&self, entry: &Entry, reports: &Reports) -> Option<Report> {
        if entry.thread != 0 {
            return reports.0.get(&(entry.thread, entry.reason)).copied();
        }
        let has_entry = |thread| {
            self.0.iter().any(|other| (other.thread, other.reason) == (thread, entry.reason))
        };
        let others = reports
            .0
            .iter()
            .filter(|((thread, reason), _)| *reason == entry.reason && !has_entry(*thread));
        others.map(|(_, report)| *report).reduce(|a, b| Report {
            number: a.number.saturating_add(b.number),
            from: a.from.min(b.from),
        })
    }
}

impl Entry {
    /// Losses whose events are overwritten, then those that no event reports yet.
    fn unreported(
        &self,
        read: Option<Report>,
        overwrites: bool,
    ) -> impl Iterator<Item = Unreported> {
        let read_number = read.map_or(0, |read| read.number);
        // A provider that was killed behind the event's last store has not counted it as reported.
        let unreported = self.number.saturating_sub(self.reported.max(read_number));
        let overwritten = match overwrites {
            true => self.reported.min(self.number).saturating_sub(read_number),
            false => 0,
        };
        let from = if self.thread == 0 { self.first } else { self.from };
        let next = match (read, unreported) {
            (Some(read), _) => read.from,
            (None, 0) => self.last,
            (None, _) => from,
        };
        let lost = |number, from: u64, to: u64| Unreported {
            reason: self.reason,
            thread: Some(self.thread).filter(|thread| *thread != 0),
            number,
            from: from.min(to),
            to,
        };
        let lost = [lost(overwritten, self.first, next), lost(unreported, from, self.last)];
        lost.into_iter().filter(|lost| lost.number != 0)
    }
}

impl Reports {
    /// Adds an event. A provider with more threads than a loss table has entries is hostile: what
    /// is beyond is left out.
    pub(super) fn add(&mut self, thread: u64, reason: &str, number: u64, from: u64) {
        const MOST: usize = 1 << 16;
        let reason = LossReason::ALL.into_iter().find(|known| known.as_str() == reason);
        let (Some(reason), Ok(thread)) = (reason, u32::try_from(thread)) else { return };
        let key = (thread, reason);
        if let Some(report) = self.0.get_mut(&key) {
            report.number = report.number.saturating_add(number);
            report.from = report.from.min(from);
        } else if self.0.len() < MOST {
            self.0.insert(key, Report { number, from });
        }
    }
}
