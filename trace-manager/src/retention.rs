//! Limits a session to its buffer size if its providers stream because of other sessions.
//!
//! A oneshot session keeps the first records of each provider, and a circular one the last.

mod block;
mod rest;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use trace_format::layout::{record, thread, RecordType};
use trace_protocol::archive::Loss;
use trace_protocol::buffer::consumer::SaveSlot;
use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::buffer::producer::CHUNK_THREAD;

use self::block::{split_first, Block};
use crate::buffers::Share;
use crate::category_filter::LossReports;
use crate::limited::Limited;
use crate::machine::ProviderId;
use crate::records::{Records, Spares, Words, SECTION};

pub(crate) use self::rest::RestLimit;

/// The retained records of a session.
#[derive(Debug)]
pub(crate) struct Retention {
    mode: BufferingMode,
    /// The most words of a provider.
    limit: usize,
    spares: Spares,
    providers: BTreeMap<u32, Retained>,
    /// The words so far of each connection, in oneshot mode.
    used: BTreeMap<ProviderId, usize>,
}

/// The retained records of a provider.
#[derive(Debug, Default)]
struct Retained {
    connection: ProviderId,
    memory: Option<Share>,
    /// Words of `blocks`, in circular mode.
    words: usize,
    /// Strings, threads and objects that were removed from blocks, in circular mode.
    metadata: Vec<u64>,
    /// Recognizes reports of losses among removed records.
    reports: LossReports,
    /// Only of the oldest one, records may have been removed.
    blocks: VecDeque<Block>,
    limited: Limited,
    /// The losses that earlier records report, which are passed on or counted as `limited`, and
    /// those from before the session.
    reported: u64,
    /// The losses from before the session that no record has reported so far.
    earlier: u64,
}

/// The last records of a provider, after the retained ones.
#[derive(Debug, Default)]
pub(crate) struct Last {
    pub(crate) words: Vec<u64>,
    /// The slots of the retained records.
    pub(crate) slots: Vec<SaveSlot>,
    pub(crate) limited: Limited,
}

impl Retention {
    pub(crate) fn new(mode: BufferingMode, limit: u64, spares: Spares) -> Self {
        let limit = usize::try_from(limit / 8).unwrap_or(usize::MAX);
        Self { mode, limit, spares, providers: BTreeMap::new(), used: BTreeMap::new() }
    }

    /// Returns the bytes of the blocks that are retained of a provider whose buffer has the mode
    /// `mode`, if any are.
    pub(crate) fn size(&self, mode: BufferingMode) -> Option<u64> {
        let retains = self.mode == BufferingMode::Circular && self.limits(mode);
        retains.then_some(self.limit as u64 * 8)
    }

    /// Notes that a provider has left its buffer. Its blocks are archived with its last records.
    pub(crate) fn begin_release(&self, provider: u32) {
        let memory = self.providers.get(&provider).and_then(|retained| retained.memory.as_ref());
        memory.into_iter().for_each(Share::begin_release);
    }

    fn keeps_first(&self) -> bool {
        self.mode == BufferingMode::Oneshot
    }

    /// Returns whether records from a buffer with this mode are limited here.
    fn limits(&self, mode: BufferingMode) -> bool {
        self.mode != BufferingMode::Streaming && mode != self.mode
    }

    /// Adds a provider whose buffer has the mode `mode`. It has lost `dropped_before` records that
    /// it has reported or will report. Does nothing if the buffer keeps the limit itself. `memory`
    /// is that of the retained blocks.
    pub(crate) fn add(
        &mut self,
        connection: ProviderId,
        provider: u32,
        mode: BufferingMode,
        dropped_before: u64,
        memory: Option<Share>,
    ) {
        if self.limits(mode) {
            let reported = dropped_before;
            let retained = Retained { connection, memory, reported, ..Retained::default() };
            self.providers.insert(provider, retained);
        }
    }

    /// Notes how many losses from before the session no record of a provider has reported so far.
    /// Called before its next records: threads report them in any order, also behind later losses.
    pub(crate) fn expect_earlier(&mut self, provider: u32, number: u64) {
        if let Some(retained) = self.providers.get_mut(&provider) {
            retained.earlier = number;
        }
    }

    /// Corrects how many losses from before the session a provider has reported or will report.
    pub(crate) fn correct_reports(&mut self, provider: u32, reported: u64) {
        if let Some(retained) = self.providers.get_mut(&provider) {
            retained.reported = retained.reported.max(reported);
        }
    }

    /// Counts the words of a buffer that kept the limit itself. Returns the providers of the same
    /// connection, for whose records less is left.
    pub(crate) fn charge(&mut self, connection: ProviderId, words: usize) -> Vec<u32> {
        if !self.keeps_first() {
            return Vec::new();
        }
        *self.used.entry(connection).or_default() += words;
        let same = self.providers.iter().filter(|(_, it)| it.connection == connection);
        same.map(|(provider, _)| *provider).collect()
    }

    /// Forgets a connection that has ended, and whose records are all taken.
    pub(crate) fn forget(&mut self, connection: ProviderId) {
        self.used.remove(&connection);
    }

    /// Returns the number of connections whose words are counted.
    #[cfg(test)]
    pub(crate) fn counted(&self) -> usize {
        self.used.len()
    }

    /// Returns whether a provider's records are limited.
    pub(crate) fn has(&self, provider: u32) -> bool {
        self.providers.contains_key(&provider)
    }

    /// Returns the records to pass on now: in circular mode none but those of removed blocks, of
    /// which only the slots are left.
    pub(crate) fn accept(&mut self, records: Records) -> Vec<Records> {
        let Some(retained) = self.providers.get_mut(&records.provider) else {
            return vec![records];
        };
        match self.mode {
            BufferingMode::Oneshot => {
                let used = self.used.entry(retained.connection).or_default();
                let Records { words, reported, .. } = &records;
                let first = retained.take_first(words, *reported, used, self.limit);
                let reported = retained.archived_reports(*reported);
                let words = first.map_or_else(|| records.words.clone(), |it| self.spares.share(it));
                vec![Records { words, reported, ..records }]
            }
            _ => retained.push(records, self.limit, &self.spares),
        }
    }

    /// Removes a provider. Returns `last`, which begins with a section record, after the retained
    /// records. These and earlier records report `reported` losses.
    pub(crate) fn finish(&mut self, provider: u32, last: &Words, reported: u64) -> Last {
        let Some(mut retained) = self.providers.remove(&provider) else {
            return Last { words: last.to_vec(), ..Last::default() };
        };
        if self.mode == BufferingMode::Oneshot {
            let used = self.used.entry(retained.connection).or_default();
            let words = retained.take_first(last, reported, used, self.limit);
            let words = words.unwrap_or_else(|| last.to_vec());
            return Last { words, limited: retained.limited, slots: Vec::new() };
        }
        let mut words: Vec<u64> = last.get(..SECTION).unwrap_or_default().to_vec();
        let (last, slots) = (last.clone(), Vec::new());
        let last = Records { provider, words: last, slots, reported, is_copy: true, is_last: true };
        let removed = retained.push(last, self.limit, &self.spares);
        retained.append_to(&mut words);
        let limited = retained.effect();
        let blocks = retained.blocks.into_iter().map(|block| block.records);
        let slots = removed.into_iter().chain(blocks).flat_map(|records| records.slots).collect();
        Last { words, slots, limited }
    }

    /// Removes the retained blocks of a provider, and returns them without words.
    pub(crate) fn clear(&mut self, provider: u32, keeps_metadata: bool) -> Vec<Records> {
        let Some(retained) = self.providers.get_mut(&provider) else { return Vec::new() };
        let removed = retained.remove_blocks(self.limit, &self.spares);
        retained.limited = Limited { dropped: retained.limited.dropped, ..Limited::default() };
        if !keeps_metadata {
            retained.metadata.clear();
        }
        removed
    }

    /// Returns the effect of the limit on the records of a provider so far.
    pub(crate) fn limited(&self, provider: u32) -> Limited {
        self.providers.get(&provider).map_or_else(Limited::default, Retained::effect)
    }

    /// Returns the losses that are reported by retained and removed records of a provider.
    pub(crate) fn held_back_reports(&self, provider: u32) -> u64 {
        let Some(retained) = self.providers.get(&provider) else { return 0 };
        let newest = retained.blocks.back().map_or(0, |block| block.reported);
        retained.limited.unreported + newest.saturating_sub(retained.reported)
    }

    /// Returns the retained words of all providers, for a snapshot.
    pub(crate) fn contents(&self) -> Vec<(u32, Words)> {
        let contents = |(id, retained): (&u32, &Retained)| {
            let mut words = Records::begin(&self.spares, *id);
            retained.append_to(&mut words);
            (*id, self.spares.share(words))
        };
        self.providers.iter().map(contents).collect()
    }
}

impl Retained {
    /// Counts a block. Its records and those before it report `reported` losses. Returns its first
    /// records, within the limit, and its metadata; `None` if the limit is not reached.
    fn take_first(
        &mut self,
        words: &[u64],
        reported: u64,
        used: &mut usize,
        limit: usize,
    ) -> Option<Vec<u64>> {
        let block = words.len().saturating_sub(SECTION);
        let reports = self.count_reports(reported.saturating_add(self.earlier));
        if used.saturating_add(block) <= limit {
            *used += block;
            return None;
        }
        // The reports may be among the first records: then these losses are in the archive twice.
        self.limited.unreported += reports;
        let mut kept = words.get(..SECTION).unwrap_or_default().to_vec();
        for record in split_records(words) {
            if is_metadata(record) {
                kept.extend_from_slice(record);
            } else if self.limited.dropped.is_none() && *used + record.len() <= limit {
                *used += record.len();
                kept.extend_from_slice(record);
            } else {
                self.drop_record(record);
            }
        }
        Some(kept)
    }

    /// Returns the losses that the next records report, up to which there are `reported`.
    fn count_reports(&mut self, reported: u64) -> u64 {
        let before = self.reported;
        self.reported = before.max(reported);
        self.reported - before
    }

    /// Returns how many of the `reported` losses are reported by records that are not left out.
    fn archived_reports(&self, reported: u64) -> u64 {
        reported.saturating_sub(self.limited.unreported)
    }

    fn drop_record(&mut self, record: &[u64]) {
        let at = record.get(1).copied().filter(|_| is_event(record));
        self.leave_out(record);
        let loss = self.limited.dropped.get_or_insert_with(|| {
            let at = at.unwrap_or(0);
            Loss { thread: None, number: 0, from: at, to: at }
        });
        // The chunk's thread is not a record of the program.
        loss.number += u64::from(!is_thread(record));
        if let Some(at) = at {
            loss.from = loss.from.min(at);
            loss.to = loss.to.max(at);
        }
    }

    /// Counts a record that the archive does not get.
    fn leave_out(&mut self, record: &[u64]) {
        let is_other = !is_event(record) && !is_thread(record) && !is_metadata(record);
        self.limited.records += 1;
        self.limited.events += u64::from(is_event(record));
        self.limited.others += u64::from(is_other);
    }

    /// Counts the record that names a chunk's thread, if there is one, which nothing needs any
    /// more.
    fn leave_out_thread(&mut self, thread: &[u64]) {
        if !thread.is_empty() {
            self.leave_out(thread);
        }
    }

    /// Adds a block, and removes the oldest records beyond the limit, but never the newest one.
    /// Returns the blocks of which none are left, without words.
    fn push(&mut self, records: Records, limit: usize, spares: &Spares) -> Vec<Records> {
        self.words += records.words().len();
        let reported = records.reported.saturating_add(self.earlier);
        self.blocks.push_back(Block::new(records, reported));
        let mut removed = Vec::new();
        while self.words > limit {
            let Some(mut oldest) = self.blocks.pop_front() else { break };
            while let Some(size) = oldest.first_size() {
                if self.words <= limit || self.words == size {
                    break;
                }
                self.remove_first(&mut oldest, size, limit);
            }
            if oldest.first_size().is_some() {
                oldest.compact(spares);
                self.blocks.push_front(oldest);
                break;
            }
            let records = self.remove(oldest, spares);
            removed.push(Records { reported: self.archived_reports(records.reported), ..records });
        }
        removed
    }

    /// Removes all blocks but for their metadata. Returns them without words.
    fn remove_blocks(&mut self, limit: usize, spares: &Spares) -> Vec<Records> {
        let mut removed = Vec::new();
        while let Some(mut oldest) = self.blocks.pop_front() {
            while let Some(size) = oldest.first_size() {
                self.remove_first(&mut oldest, size, limit);
            }
            removed.push(self.remove(oldest, spares));
        }
        removed
    }

    /// Removes the first record, of `size` words, from the oldest block. Metadata is kept.
    fn remove_first(&mut self, oldest: &mut Block, size: usize, limit: usize) {
        let record = oldest.words().get(..size).unwrap_or_default();
        // Objects in events are not bounded by the durable buffer, so they are limited too.
        if is_metadata(record) && (is_string(record) || self.metadata.len() < limit) {
            self.metadata.extend_from_slice(record);
            self.reports.register(record);
        } else if is_thread(record) && !is_metadata(record) {
            let thread = record.to_vec();
            self.leave_out_thread(&std::mem::replace(&mut oldest.thread, thread));
        } else {
            self.leave_out(record);
            let rest = oldest.reported.saturating_sub(self.reported);
            let reported = self.reports.number(record).min(rest);
            self.limited.unreported += reported;
            self.reported += reported;
        }
        oldest.start += size;
        oldest.is_trimmed = true;
        self.words -= size;
    }

    /// Counts a block whose records are removed. Returns it without words.
    fn remove(&mut self, block: Block, spares: &Spares) -> Records {
        let Block { records, reported, thread, .. } = block;
        self.leave_out_thread(&thread);
        self.limited.overwritten += 1;
        self.limited.unreported += self.count_reports(reported);
        let words = spares.share(records.words.get(..SECTION).unwrap_or_default().to_vec());
        Records { words, ..records }
    }

    /// Appends the metadata and the retained records.
    fn append_to(&self, words: &mut Vec<u64>) {
        words.extend(&self.metadata);
        for block in &self.blocks {
            words.extend(&block.thread);
            words.extend_from_slice(block.words());
        }
    }

    /// Returns the effect of the limit so far. A block of which some records are removed counts as
    /// one that is removed.
    fn effect(&self) -> Limited {
        let is_trimmed = self.blocks.front().is_some_and(|block| block.is_trimmed);
        let overwritten = self.limited.overwritten + u32::from(is_trimmed);
        Limited { overwritten, ..self.limited }
    }
}

/// Returns the records after the section record.
pub(crate) fn split_records(words: &[u64]) -> impl Iterator<Item = &[u64]> {
    let mut rest = words.get(SECTION..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (record, after) = split_first(rest)?;
        rest = after;
        Some(record)
    })
}

/// Returns whether later records may need this one: a string, an object, or a thread that is not
/// only a chunk's.
pub(crate) fn is_metadata(record: &[u64]) -> bool {
    let Some(header) = record.first() else { return false };
    match RecordType::from_bits(record::Type::get(*header)) {
        Some(RecordType::String | RecordType::KernelObject) => true,
        Some(RecordType::Thread) => thread::Index::get(*header) != u64::from(CHUNK_THREAD.bits()),
        _ => false,
    }
}

fn is_string(record: &[u64]) -> bool {
    record.first().is_some_and(|header| record::Type::get(*header) == RecordType::String.bits())
}

fn is_event(record: &[u64]) -> bool {
    record.first().is_some_and(|header| record::Type::get(*header) == RecordType::Event.bits())
}

pub(crate) fn is_thread(record: &[u64]) -> bool {
    record.first().is_some_and(|header| record::Type::get(*header) == RecordType::Thread.bits())
}
