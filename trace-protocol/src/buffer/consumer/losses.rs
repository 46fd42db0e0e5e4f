//! What the loss table says, and what is left of it beyond the events that report losses.

use std::collections::{HashMap, HashSet};

use crate::buffer::header::{loss_entry, Layout};
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

/// The number of lost records at some moment, by thread and reason: for a reader that has the later
/// ones only.
#[derive(Clone, Debug, Default)]
pub struct EarlierLosses(HashMap<(u32, LossReason), u64>);

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

/// What events report, by the entries of a loss table.
struct ReadReports<'a> {
    reports: &'a Reports,
    /// The reports of threads that share an entry, as they have none of their own.
    shared: HashMap<LossReason, Report>,
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

    /// Returns the numbers of lost records.
    pub(super) fn numbers(&self) -> EarlierLosses {
        // A thread that has got another slot has another entry.
        let mut numbers = HashMap::<_, u64>::new();
        for entry in &self.0 {
            let number = numbers.entry(entry.key()).or_default();
            *number = number.saturating_add(entry.number);
        }
        EarlierLosses(numbers)
    }

    /// Returns how many of the losses behind `earlier` the events report that were read.
    ///
    /// A thread reports its losses in their order: first those of `earlier`.
    pub(super) fn reported_behind(&self, earlier: &EarlierLosses, reports: &Reports) -> u64 {
        let numbers = self.numbers().0;
        let read = self.read(reports);
        let reported = |(key, number): (&(u32, LossReason), &u64)| {
            let reported = read.of(*key).map_or(0, |read| read.number).min(*number);
            reported.saturating_sub(earlier.of(*key))
        };
        numbers.iter().fold(0, |sum: u64, of| sum.saturating_add(reported(of)))
    }

    /// What is lost behind `earlier` beyond what events report, of which `reports` are those that
    /// were read. Others are overwritten if `overwrites`, or in an archive.
    pub(super) fn unreported(
        &self,
        earlier: &EarlierLosses,
        reports: &Reports,
        overwrites: bool,
    ) -> Vec<Unreported> {
        let read = self.read(reports);
        let unreported = |entry: &Entry| {
            let key = entry.key();
            entry.unreported(read.of(key), earlier.of(key), overwrites)
        };
        self.0.iter().flat_map(unreported).collect()
    }

    /// Returns the losses whose reports were not read, by thread and reason.
    pub(super) fn unread(&self, reports: &Reports) -> EarlierLosses {
        let mut reported = HashMap::<_, u64>::new();
        for entry in &self.0 {
            let number = reported.entry(entry.key()).or_default();
            *number = number.saturating_add(entry.reported.min(entry.number));
        }
        let read = self.read(reports);
        let read = |key| read.of(key).map_or(0, |read| read.number);
        let unread = reported.into_iter().map(|(key, it)| (key, it.saturating_sub(read(key))));
        EarlierLosses(unread.filter(|(_, number)| *number != 0).collect())
    }

    /// Assigns what the events that were read report to the entries. A hostile provider can have
    /// thousands of entries and reports, so each is visited once.
    fn read<'a>(&self, reports: &'a Reports) -> ReadReports<'a> {
        let keys: HashSet<_> = self.0.iter().map(Entry::key).collect();
        let mut shared = HashMap::<LossReason, Report>::new();
        if keys.iter().any(|(thread, _)| *thread == 0) {
            let is_shared = |key: &(u32, LossReason)| key.0 == 0 || !keys.contains(key);
            for ((_, reason), report) in reports.0.iter().filter(|(key, _)| is_shared(key)) {
                let add = |all: &mut Report| all.add(report.number, report.from);
                shared.entry(*reason).and_modify(add).or_insert(*report);
            }
        }
        ReadReports { reports, shared }
    }
}

impl ReadReports<'_> {
    /// Returns what the events report of a thread and a reason.
    fn of(&self, (thread, reason): (u32, LossReason)) -> Option<Report> {
        match thread {
            0 => self.shared.get(&reason).copied(),
            _ => self.reports.0.get(&(thread, reason)).copied(),
        }
    }
}

impl Report {
    fn add(&mut self, number: u64, from: u64) {
        self.number = self.number.saturating_add(number);
        self.from = self.from.min(from);
    }
}

impl EarlierLosses {
    /// Returns the number of all of them.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |total, number| total.saturating_add(*number))
    }

    /// Returns whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reduces each number to that of `other`.
    pub(super) fn reduce_to(&mut self, other: &Self) {
        self.0.retain(|key, number| {
            *number = other.of(*key).min(*number);
            *number != 0
        });
    }

    /// Returns the number of these losses that are among `other`, too.
    pub(super) fn common(&self, other: &Self) -> u64 {
        let common = self.0.iter().map(|(key, number)| other.of(*key).min(*number));
        common.fold(0, u64::saturating_add)
    }

    /// Returns the number of those with this reason.
    pub fn with_reason(&self, reason: LossReason) -> u64 {
        let numbers = self.0.iter().filter(|((_, of), _)| *of == reason).map(|(_, number)| *number);
        numbers.fold(0, u64::saturating_add)
    }

    /// Returns those of them that no event has reported which was read.
    pub(super) fn unreported(&self, reports: &Reports) -> Self {
        let has_entry = |key: &(u32, LossReason)| self.0.contains_key(key);
        let reported = |(thread, reason): (u32, LossReason)| {
            let of_thread = reports.0.get(&(thread, reason)).map_or(0, |report| report.number);
            let others = || {
                let reports = reports.0.iter();
                reports.filter(|(key, _)| key.1 == reason && !has_entry(key))
            };
            match thread {
                0 => others()
                    .fold(of_thread, |sum: u64, (_, report)| sum.saturating_add(report.number)),
                _ => of_thread,
            }
        };
        let rest = |(key, number): (&_, &u64)| (*key, number.saturating_sub(reported(*key)));
        Self(self.0.iter().map(rest).collect())
    }

    /// Takes the losses out that an event reports. Returns how many of the event's losses are not
    /// among these: a thread reports its losses in their order.
    pub fn take(&mut self, thread: u32, reason: LossReason, number: u64) -> u64 {
        let key = if self.0.contains_key(&(thread, reason)) { thread } else { 0 };
        let Some(earlier) = self.0.get_mut(&(key, reason)) else { return number };
        let taken = number.min(*earlier);
        *earlier -= taken;
        number - taken
    }

    fn of(&self, key: (u32, LossReason)) -> u64 {
        self.0.get(&key).copied().unwrap_or(0)
    }
}

impl Entry {
    fn key(&self) -> (u32, LossReason) {
        (self.thread, self.reason)
    }

    /// Losses whose events are overwritten, then those that no event reports yet, without the first
    /// `earlier` ones.
    fn unreported(
        &self,
        read: Option<Report>,
        earlier: u64,
        overwrites: bool,
    ) -> impl Iterator<Item = Unreported> {
        let read_number = read.map_or(0, |read| read.number).max(earlier);
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
    /// Returns these reports, and those of the losses `overwritten` that are among `earlier`, as if
    /// they had been read.
    pub(super) fn with(&self, overwritten: &EarlierLosses, earlier: &EarlierLosses) -> Self {
        let mut reports = self.clone();
        for (key, number) in &overwritten.0 {
            let report = reports.0.entry(*key).or_insert(Report { number: 0, from: 0 });
            report.number = report.number.saturating_add(earlier.of(*key).min(*number));
        }
        reports
    }

    /// Adds an event. A provider with more threads than a loss table has entries is hostile: what
    /// is beyond is left out.
    pub(super) fn add(&mut self, thread: u64, reason: &str, number: u64, from: u64) {
        const MOST: usize = 1 << 16;
        let reason = LossReason::ALL.into_iter().find(|known| known.as_str() == reason);
        let (Some(reason), Ok(thread)) = (reason, u32::try_from(thread)) else { return };
        let key = (thread, reason);
        if let Some(report) = self.0.get_mut(&key) {
            report.add(number, from);
        } else if self.0.len() < MOST {
            self.0.insert(key, Report { number, from });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const REASON: LossReason = LossReason::NotSaved;

    fn entry(thread: u32, number: u64, reported: u64) -> Entry {
        Entry { reason: REASON, thread, number, first: 10, last: 20, reported, from: 10 }
    }

    fn reports(of: &[(u64, u64)]) -> Reports {
        let mut reports = Reports::default();
        of.iter().for_each(|(thread, number)| reports.add(*thread, REASON.as_str(), *number, 10));
        reports
    }

    /// A circular buffer has lost reports before it begins to stream.
    #[test]
    fn overwritten_reports_count_for_later_readers_only() {
        let read = reports(&[(7, 2)]);
        let table = |seven, reported| LossTable(vec![entry(7, seven, reported), entry(0, 4, 4)]);
        let mut overwritten = table(9, 8).unread(&read);
        assert_eq!(overwritten.total(), 6 + 4, "4 of them may be in the current buffer");
        let read = reports(&[(7, 6)]);
        overwritten.reduce_to(&table(9, 8).unread(&read));
        assert_eq!((overwritten.total(), overwritten.of((7, REASON))), (2 + 4, 2));
        let before = table(9, 8).numbers();
        assert_eq!(before.unreported(&read.with(&overwritten, &before)).total(), 1);
        let later = (table(12, 12), reports(&[(7, 10)]));
        let as_read = later.1.with(&overwritten, &before);
        assert_eq!(later.0.reported_behind(&before, &as_read), 3);
        let unreported = later.0.unreported(&before, &as_read, true);
        assert_eq!(unreported, []);
        let none = EarlierLosses::default();
        let unreported = later.0.unreported(&none, &later.1.with(&overwritten, &none), true);
        assert_eq!(unreported.iter().map(|lost| lost.number).sum::<u64>(), 2 + 4);
        assert_eq!(overwritten.common(&none), 0);
    }

    /// A hostile provider has as many entries and reports as there can be.
    #[test]
    fn entries_of_many_threads_do_not_compare_each_report() {
        const THREADS: u64 = (1 << 16) - 1;
        let read = reports(&(1..=THREADS).map(|thread| (thread, 1)).collect::<Vec<_>>());
        let table = LossTable(vec![entry(0, 1 << 20, 1 << 20); 2048]);
        let unreported = table.unreported(&EarlierLosses::default(), &read, true);
        assert_eq!(unreported.len(), 2048);
        let number = unreported.iter().map(|lost| lost.number).max();
        assert_eq!(number, Some((1 << 20) - THREADS));
        assert_eq!(table.unread(&read).total(), (2048 << 20) - THREADS);
    }

    /// Two writers of a thread have a slot each, and only one has reported its losses.
    #[test]
    fn a_thread_with_two_entries_reports_each_loss_once() {
        let table = LossTable(vec![entry(7, 100, 100), entry(7, 50, 0)]);
        let (none, reports) = (EarlierLosses::default(), reports(&[(7, 100)]));
        assert_eq!((table.numbers().total(), table.reported_behind(&none, &reports)), (150, 100));
        assert_eq!(table.numbers().with_reason(REASON), 150);
        assert_eq!(table.reported_behind(&table.numbers(), &reports), 0);
    }

    /// A thread reports its losses in their order.
    #[test]
    fn reports_of_earlier_losses_tell_no_later_ones() {
        let before = LossTable(vec![entry(7, 5, 0), entry(8, 4, 4)]).numbers();
        let table = LossTable(vec![entry(7, 8, 5), entry(8, 6, 6), entry(9, 2, 0)]);
        let reports = reports(&[(7, 5), (8, 6)]);
        assert_eq!((table.total(), before.total()), (16, 9));
        assert_eq!(table.reported_behind(&before, &reports), 2);
        let unreported = table.unreported(&before, &reports, false);
        let unreported = unreported.iter().map(|lost| (lost.thread, lost.number));
        assert_eq!(unreported.collect::<Vec<_>>(), [(Some(7), 3), (Some(9), 2)]);
    }

    /// A copy of the table may be older than the events that are read.
    #[test]
    fn reports_of_one_thread_tell_no_losses_of_others() {
        let table = LossTable(vec![entry(7, 5, 0)]);
        let reports = reports(&[(7, 2), (8, 9)]);
        assert_eq!(table.reported_behind(&EarlierLosses::default(), &reports), 2);
    }

    #[test]
    fn an_event_reports_the_earlier_losses_of_its_thread_first() {
        let table = LossTable(vec![entry(7, 5, 2), entry(8, 4, 4), entry(0, 9, 3)]);
        let reports = reports(&[(7, 2), (8, 4), (9, 3)]);
        let mut earlier = table.numbers().unreported(&reports);
        assert_eq!(earlier.total(), 3 + 6);
        let mut later = |thread, number| earlier.take(thread, REASON, number);
        assert_eq!([later(7, 2), later(7, 4), later(7, 1)], [0, 3, 1]);
        assert_eq!(later(8, 1), 1);
        assert_eq!([later(10, 5), later(11, 5)], [0, 4], "threads without an entry share one");
        assert_eq!(earlier.take(7, LossReason::BufferFull, 1), 1);
    }

    /// The first entry is that of several threads.
    #[test]
    fn threads_without_an_entry_share_one() {
        let table = LossTable(vec![entry(0, 9, 9), entry(7, 5, 5)]);
        let reports = reports(&[(7, 5), (8, 3), (9, 4)]);
        assert_eq!(table.reported_behind(&EarlierLosses::default(), &reports), 12);
    }
}
