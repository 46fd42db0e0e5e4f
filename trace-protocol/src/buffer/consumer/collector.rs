//! What to read of a provider's buffer, and when.

use std::borrow::Cow;

use crate::buffer::header::{field, BufferingMode, Layout};
use crate::buffer::memory::ReadMapping;
use crate::buffer::producer::LossReason;
use crate::sync::Ordering;

use super::chunks::{live_chunks, live_wraps, RawSave};
use super::filter::Filter;
use super::losses::{EarlierLosses, LossTable, Reports, Unreported};
use super::ownership::IdentityPolicy;
use super::slot::{SaveSlot, SlotReader};
use super::stats::Stats;

/// Reads one provider's buffer, each record once, and turns it into well-formed records.
#[derive(Clone, Debug)]
pub struct Collector {
    pub(super) mapping: ReadMapping,
    pub(super) layout: Layout,
    pub(super) filter: Filter,
    pub(super) durable_read: usize,
    pub(super) last_saved: Option<u32>,
    /// Losses whose reports were overwritten before the provider began to stream, if the reader
    /// counts these.
    overwritten_reports: Option<OverwrittenReports>,
    /// The loss table of a copy, for a collector that reads a copy.
    pub(super) losses: Option<LossTable>,
}

/// The losses whose reports were overwritten before a provider with a circular buffer began to
/// stream.
#[derive(Clone, Debug)]
struct OverwrittenReports {
    /// The losses, at most.
    losses: EarlierLosses,
    /// The rolling buffer that was the current one when it began to stream.
    current: u32,
    /// The loss table when that was copied. Later reports are in later rolling buffers.
    reported: Option<LossTable>,
    /// Whether that is checked, so that the number is final. A hostile provider could have each
    /// later check compare its whole loss table.
    is_final: bool,
}

/// The first chunks of a copy, which are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    chunks: usize,
    words: usize,
}

impl Checked {
    fn add(&mut self, words: usize) {
        self.chunks += 1;
        self.words += words;
    }
}

/// Why a buffer cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectorError {
    /// The memory is smaller than the layout says.
    Size,
}

impl std::fmt::Display for CollectorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the trace buffer is smaller than its layout")
    }
}

impl std::error::Error for CollectorError {}

impl Collector {
    /// Makes a collector for the buffer of a provider that may write records about whom `policy`
    /// says.
    ///
    /// `layout` is the reader's own: nothing of it is read from the buffer.
    ///
    /// # Errors
    /// [`CollectorError::Size`] if the memory is smaller than the layout's total size.
    pub fn new(
        mapping: ReadMapping,
        layout: Layout,
        policy: IdentityPolicy,
    ) -> Result<Self, CollectorError> {
        if mapping.size() < layout.total_size() {
            return Err(CollectorError::Size);
        }
        Ok(Self {
            mapping,
            layout,
            filter: Filter::new(policy, layout.has_function_records()),
            durable_read: 0,
            last_saved: None,
            overwritten_reports: None,
            losses: None,
        })
    }

    /// Appends what is new in the durable buffer, up to `end` bytes of it, and no further than the
    /// layout goes.
    pub fn collect_durable(&mut self, end: u64, out: &mut Vec<u64>) {
        let mut words = self.copy_durable(end);
        self.durable_read += words.len();
        self.filter.filter(&mut words, out);
    }

    /// Appends the durable data that was collected so far once more, for a reader who needs it from
    /// its start. The state does not change.
    pub fn collect_durable_again(&self, policy: IdentityPolicy, out: &mut Vec<u64>) {
        let (mapping, layout) = (self.mapping.clone(), self.layout);
        if let Ok(mut again) = Self::new(mapping, layout, policy) {
            again.collect_durable(self.durable_read as u64 * 8, out);
        }
    }

    /// Returns the last wrapped count that was copied.
    pub fn last_saved(&self) -> Option<u32> {
        self.last_saved
    }

    /// Copies what is new in the durable buffer, up to `end` bytes of it.
    pub(super) fn copy_durable(&self, end: u64) -> Vec<u64> {
        let start = self.layout.durable_start();
        let end = (usize::try_from(end).unwrap_or(usize::MAX) / 8).min(self.layout.durable_words());
        let new = self.mapping.words().get(start + self.durable_read.min(end)..start + end);
        new.unwrap_or(&[]).iter().map(|word| word.load(Ordering::Acquire)).collect()
    }

    /// Copies the rolling buffer of `wrapped_count`. After this its provider may write it again.
    pub fn copy_rolling(&mut self, wrapped_count: u32) -> RawSave {
        self.last_saved = self.last_saved.max(Some(wrapped_count));
        self.note_copied(wrapped_count);
        RawSave::copy(&self.mapping, &self.layout, wrapped_count)
    }

    /// Copies the rolling buffer of `wrapped_count` into `slot`, where `owner` says whose it is.
    /// After this its provider may write it again.
    ///
    /// The slot has to be one that [`fits`](SaveSlot::fits) the layout.
    pub fn copy_rolling_into(&mut self, wrapped_count: u32, slot: &SaveSlot, owner: u32) {
        self.last_saved = self.last_saved.max(Some(wrapped_count));
        self.note_copied(wrapped_count);
        slot.fill(&self.mapping, &self.layout, wrapped_count, owner);
    }

    /// Takes over from another collector, which had copied the rolling buffers up to `last_saved`.
    pub fn resume(&mut self, last_saved: Option<u32>) {
        self.last_saved = self.last_saved.max(last_saved);
    }

    /// Appends the well-formed records of the copy in a slot, in the order of its chunks. The copy
    /// stays as it is.
    pub fn sanitize_slot(&mut self, slot: &SlotReader, out: &mut Vec<u64>) {
        self.sanitize_slot_part(slot, &mut Checked::default(), usize::MAX, out);
    }

    /// Does a part of [`sanitize_slot`](Self::sanitize_slot): the next chunks, until they have at
    /// least `words` words. Returns whether there are more.
    pub fn sanitize_slot_part(
        &mut self,
        slot: &SlotReader,
        checked: &mut Checked,
        words: usize,
        out: &mut Vec<u64>,
    ) -> bool {
        let end = checked.words.saturating_add(words);
        let mut copy = Vec::with_capacity(self.layout.unit_words());
        for chunk in slot.chunks_behind(&self.layout, (checked.chunks, checked.words)) {
            if checked.words >= end {
                return true;
            }
            copy.clear();
            copy.extend(chunk.iter().map(|word| word.load(Ordering::Relaxed)));
            checked.add(copy.len());
            self.filter.filter_chunk(&mut copy, out);
        }
        if let Some(wrapped_count) = slot.wrapped_count() {
            self.note_checked(wrapped_count);
        }
        false
    }

    /// Appends the well-formed records of a copy, in the order of its chunks.
    pub fn sanitize(&mut self, mut save: RawSave, out: &mut Vec<u64>) {
        self.sanitize_part(&mut save, &mut Checked::default(), usize::MAX, out);
    }

    /// Does a part of [`sanitize`](Self::sanitize): the next chunks, until they have at least
    /// `words` words. Returns whether there are more.
    pub fn sanitize_part(
        &mut self,
        save: &mut RawSave,
        checked: &mut Checked,
        words: usize,
        out: &mut Vec<u64>,
    ) -> bool {
        let RawSave { words: all, chunks, wrapped_count } = save;
        let end = checked.words.saturating_add(words);
        if checked.chunks == 0 {
            out.reserve(all.len());
        }
        for length in chunks.iter().skip(checked.chunks) {
            if checked.words >= end {
                return true;
            }
            let rest = all.get_mut(checked.words..).unwrap_or_default();
            let (chunk, _behind) = rest.split_at_mut((*length).min(rest.len()));
            checked.add(*length);
            self.filter.filter_chunk(chunk, out);
        }
        self.note_checked(*wrapped_count);
        false
    }

    /// Appends all that is left: what is new in the durable buffer, then the rolling buffers that
    /// were not saved, the oldest one first.
    ///
    /// For a provider that has stopped, or is dead: of one that still writes, some of the newest
    /// records may be missing.
    pub fn finish(&mut self, out: &mut Vec<u64>) {
        self.collect_durable(self.durable_end(), out);
        let saved = self.last_saved;
        let wraps = live_wraps(&self.mapping, &self.layout);
        if let (BufferingMode::Circular, Some(newest)) = (self.layout.mode(), wraps.last()) {
            self.keep_from(self.overwritten_before(*newest));
        }
        let saves: Vec<RawSave> = wraps
            .into_iter()
            .filter(|wrap| Some(*wrap) > saved)
            .map(|wrap| self.copy_rolling(wrap))
            .collect();
        saves.into_iter().for_each(|save| self.sanitize(save, out));
        self.note_checked(u32::MAX);
    }

    /// How many rolling buffers are gone, if `newest` is the newest one.
    pub(super) fn overwritten_before(&self, newest: u32) -> u32 {
        newest.saturating_add(1).saturating_sub(self.layout.rolling_buffers() as u32)
    }

    /// Notes that this wrapped count is the first one that is read of a circular buffer: begins of
    /// scopes in older rolling buffers are overwritten.
    pub(super) fn keep_from(&mut self, first: u32) {
        self.filter.stats.overwritten = first;
        self.filter.kept_from = Some(first);
    }

    /// Notes that the provider of a circular buffer streams: it requests to save the rolling
    /// buffers from `first` on, and those before are overwritten.
    pub fn stream_from(&mut self, first: u32) {
        self.layout = self.layout.streaming();
        self.keep_from(first);
        self.resume(first.checked_sub(1));
    }

    /// Passes over the wraps below `saved`, which counts modulo 2²⁴ as
    /// [`SavedMark`](crate::buffer::saved::SavedMark) does: they are in an archive already.
    pub fn skip_saved(&mut self, saved: u32) {
        const BITS: u32 = 24;
        let is_saved = |wrap: &u32| wrap.wrapping_sub(saved) << (32 - BITS) >> 31 != 0;
        self.last_saved =
            live_wraps(&self.mapping, &self.layout).into_iter().filter(is_saved).max();
    }

    /// Prepares for another start in the same buffer, which begins with an empty durable buffer.
    pub fn restart(&mut self) {
        self.durable_read = 0;
    }

    /// Bytes that the provider says are in its durable buffer. Hostile: at most the durable
    /// buffer's size is ever read.
    pub fn durable_end(&self) -> u64 {
        self.word(field::DURABLE_END)
    }

    /// The time in ticks after which the provider says that it has begun no record, once it has
    /// stopped. Hostile: any number.
    pub fn stopped_at(&self) -> Option<u64> {
        Some(self.word(field::STOPPED_AT)).filter(|at| *at != 0)
    }

    /// Records that the provider says it lost, over the whole session.
    pub fn dropped(&self) -> u64 {
        self.loss_table().total()
    }

    /// Returns the number of records that the provider reports as lost, by reason, without reasons
    /// that did not occur.
    pub fn dropped_by_reason(&self) -> Vec<(LossReason, u64)> {
        self.loss_table().by_reason()
    }

    /// Returns the provider's wrapped count, as it reports it.
    pub fn wrapped_count(&self) -> u32 {
        (self.word(field::VERSION_MODE_WRAPPED) >> 32) as u32
    }

    /// Returns whether the rolling buffer of `wrapped_count` has chunks, while its provider may be
    /// writing to it.
    pub fn has_records(&self, wrapped_count: u32) -> bool {
        live_chunks(&self.mapping, &self.layout, wrapped_count).next().is_some()
    }

    /// Records that the provider says it lost, and that no event in the rolling buffers reports, by
    /// thread and reason. To be asked when all is collected.
    pub fn unreported(&self) -> Vec<Unreported> {
        self.unreported_behind(&EarlierLosses::default())
    }

    /// Returns the records of [`unreported`](Self::unreported) that were lost after those of
    /// `earlier`.
    pub fn unreported_behind(&self, earlier: &EarlierLosses) -> Vec<Unreported> {
        let overwrites =
            self.layout.mode() == BufferingMode::Circular || self.overwritten_reports.is_some();
        self.loss_table().unreported(earlier, &self.reports_behind(earlier), overwrites)
    }

    /// Returns how many of the records that were lost after those of `earlier` are reported by
    /// events that were read.
    pub fn reported_behind(&self, earlier: &EarlierLosses) -> u64 {
        self.loss_table().reported_behind(earlier, &self.reports_behind(earlier))
    }

    /// Returns the numbers of records that the provider says it lost.
    pub fn losses(&self) -> EarlierLosses {
        self.loss_table().numbers()
    }

    /// Returns those of `losses`, which [`losses`](Self::losses) has returned, that no event has
    /// reported which was read.
    pub fn unreported_of(&self, losses: &EarlierLosses) -> EarlierLosses {
        losses.unreported(&self.reports_behind(losses))
    }

    /// Returns how many of `losses`, which [`losses`](Self::losses) has returned, were reported by
    /// events that were overwritten before the provider began to stream, at most.
    pub fn overwritten_reports_of(&self, losses: &EarlierLosses) -> u64 {
        self.overwritten_reports.as_ref().map_or(0, |it| it.losses.common(losses))
    }

    /// Counts the losses whose reports were overwritten before the provider began to stream: those
    /// that the loss table has as reported, and whose reports are not read. Some of these may be in
    /// the rolling buffers up to `current`, which was the current one at the change. So the number
    /// decreases until the copy of that one is checked.
    ///
    /// Called at the change. A reader that does not call it knows no such reports.
    pub fn count_overwritten_reports(&mut self, current: u32) {
        let losses = self.loss_table().unread(&self.filter.reports);
        self.overwritten_reports =
            Some(OverwrittenReports { losses, current, reported: None, is_final: false });
    }

    /// Returns whether the number of overwritten reports is final, if they are counted.
    pub fn has_all_overwritten_reports(&self) -> bool {
        self.overwritten_reports.as_ref().is_none_or(|it| it.is_final)
    }

    /// Notes that the rolling buffer of `wrapped_count` is copied. If that was the current one at
    /// the change, reports that are written later are in later rolling buffers.
    fn note_copied(&mut self, wrapped_count: u32) {
        let is_last = |it: &OverwrittenReports| !it.is_final && it.current == wrapped_count;
        if self.overwritten_reports.as_ref().is_some_and(is_last) {
            let reported = Some(self.loss_table());
            self.overwritten_reports.iter_mut().for_each(|it| it.reported.clone_from(&reported));
        }
    }

    /// Notes that the records up to the rolling buffer of `wrapped_count` are checked.
    pub(super) fn note_checked(&mut self, wrapped_count: u32) {
        let Some(mut counted) = self.overwritten_reports.take() else { return };
        if !counted.is_final {
            let reported = counted.reported.take().filter(|_| wrapped_count == counted.current);
            let reported = reported.unwrap_or_else(|| self.loss_table());
            counted.losses.reduce_to(&reported.unread(&self.filter.reports));
            counted.is_final = wrapped_count >= counted.current;
        }
        self.overwritten_reports = Some(counted);
    }

    /// Returns what events report of losses, for a reader that does not have those of `earlier`.
    fn reports_behind(&self, earlier: &EarlierLosses) -> Cow<'_, Reports> {
        match &self.overwritten_reports {
            Some(overwritten) if !overwritten.losses.is_empty() && !earlier.is_empty() => {
                Cow::Owned(self.filter.reports.with(&overwritten.losses, earlier))
            }
            _ => Cow::Borrowed(&self.filter.reports),
        }
    }

    fn loss_table(&self) -> LossTable {
        let copy = || LossTable::copy(&self.mapping, &self.layout);
        self.losses.clone().unwrap_or_else(copy)
    }

    /// What was read and refused so far.
    pub fn stats(&self) -> &Stats {
        &self.filter.stats
    }

    /// Events so far by category, for the categories that have any. A category can come twice:
    /// registered, and as text in a record.
    pub fn events_by_category(&self) -> impl Iterator<Item = (&str, u64)> {
        let counts = self.filter.events_by_category.iter().zip(&self.filter.strings);
        let registered = counts.filter(|(count, _)| **count != 0);
        let registered = registered.map(|(count, name)| (name.as_deref().unwrap_or(""), *count));
        let inline = self.filter.inline_categories.iter();
        registered.chain(inline)
    }

    pub(super) fn word(&self, index: usize) -> u64 {
        self.mapping.words().get(index).map_or(0, |word| word.load(Ordering::Acquire))
    }
}
