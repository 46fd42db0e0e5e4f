//! Merges archives and aligns their clocks.
//!
//! Each provider of each archive becomes a provider of the result, with a new id. Records are
//! copied except for times and koids. Only strings and threads in use are registered.
//!
//! All times are converted to nanoseconds of one clock, by the clock anchors that `trace record`
//! writes for each provider. If all archives with anchors are of one boot of one machine, the clock
//! is `CLOCK_BOOTTIME`. Otherwise it is `CLOCK_REALTIME` minus the earliest time, which keeps the
//! numbers small. The wall clock may be set during a recording: it gives only the time of the first
//! anchor, and `CLOCK_BOOTTIME` gives all lengths. A provider's clock is assumed to be steady
//! between its first and last anchor. A provider without anchors keeps its times, and is listed in
//! [`Summary::without_anchor`].
//!
//! The result has the records of the first archive, then those of the second one and so on. Readers
//! sort by time.
//!
//! # Identities
//!
//! - Processes with the same koid in two archives of one boot are one process. This also holds for
//!   archives without anchors.
//! - Koids of another boot are different processes and threads. An offset is added to kernel koids,
//!   see [`Merger::koid_offset`]. CPUs keep their numbers.
//! - Ids of async operations, counters and objects are local to their process.
//! - Ids of flows are kept, because a program may pass them to other programs and machines. Ids of
//!   `trace_nonce!` are globally unique. Other ids may be equal by chance:
//!   [`Summary::repeated_flows`] counts flows that begin in more than one archive.

mod clock;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};

use trace_format::words::Word;
use trace_format::{Event, EventKind, Item, Metadata, Reader, Record};

use crate::rewrite::{has_tick_arguments, Copier};
use crate::ConvertError;
pub use clock::Clocks;
use clock::{Clock, Timeline};
use trace_analyze::{is_added, Damage};

/// The maximum number of flows whose begin is kept.
const MAX_FLOWS: usize = 1 << 20;

/// The result of a merge.
#[derive(Debug, Default)]
pub struct Summary {
    /// Events written.
    pub events: u64,
    /// Other records written, except string and thread records.
    pub others: u64,
    /// Records and arguments of unknown types. They are copied, but their times and koids are not
    /// converted.
    pub unknown: u64,
    /// Providers in the result.
    pub providers: u32,
    /// Providers without clock anchors, by the archive's index and by name.
    pub without_anchor: Vec<(usize, String)>,
    /// Providers during whose recording the wall clock was set, by name and by how many
    /// nanoseconds, if archives are aligned by the wall clock.
    pub wall_clock_set: Vec<(String, i64)>,
    /// Flows that begin in more than one archive.
    pub repeated_flows: u64,
    /// The damage of each archive.
    pub damage: Vec<Damage>,
}

/// Merges archives.
///
/// Each archive is read twice: first for its clocks, with [`Clocks::read`], then for its records.
pub struct Merger<W> {
    copier: Copier<W>,
    timeline: Timeline,
    summary: Summary,
    /// The index of the archive that is added, and the name for its providers without one.
    archive: usize,
    name: String,
    /// The ids in the result, by archive and provider.
    ids: HashMap<(usize, Option<u32>), u32>,
    /// The archive in which a flow begins, by the flow's hash.
    flows: HashMap<u64, usize>,
    /// The provider that is written now, and its clock.
    current: Option<((usize, Option<u32>), Clock)>,
}

impl<W> std::fmt::Debug for Merger<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merger").field("summary", &self.summary).finish_non_exhaustive()
    }
}

impl<W: Write> Merger<W> {
    /// Starts the result of archives with these clocks. They must be added in the same order.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn new(output: W, clocks: &[Clocks]) -> Result<Self, ConvertError> {
        Ok(Self {
            copier: Copier::new(output)?,
            timeline: Timeline::new(clocks),
            summary: Summary::default(),
            archive: 0,
            name: String::new(),
            ids: HashMap::new(),
            flows: HashMap::new(),
            current: None,
        })
    }

    /// Returns whether all times are of `CLOCK_REALTIME`, because the archives are not of one boot.
    #[must_use]
    pub fn is_realtime(&self) -> bool {
        self.timeline.is_realtime()
    }

    /// Returns the offset of an archive's koids, which is not 0 if the archive is of another boot
    /// than the first one.
    #[must_use]
    pub fn koid_offset(&self, archive: usize) -> u64 {
        self.timeline.koid_offset(archive)
    }

    /// Adds all records of the next archive. `name` is the name for providers without one.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading or writing failed.
    pub fn add<R: Read>(&mut self, name: &str, reader: Reader<R>) -> Result<(), ConvertError> {
        (self.archive, self.name) = (self.summary.damage.len(), name.to_owned());
        self.copier.next_archive();
        let damage = Damage::of_each(reader, |item| self.record(item))?;
        self.summary.unknown += damage.stats.unknown_records + damage.audit.unknown_arguments;
        self.summary.damage.push(damage);
        Ok(())
    }

    /// Ends the result.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn finish(mut self) -> Result<Summary, ConvertError> {
        self.copier.writer().flush()?;
        Ok(self.summary)
    }

    fn record(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        match &item.record {
            Record::Metadata(Metadata::ProviderEvent { id, event }) => {
                let id = match self.ids.get(&(self.archive, Some(*id))) {
                    Some(id) => *id,
                    None => {
                        self.current = None;
                        self.add_provider(Some(*id), "")?
                    }
                };
                self.copier.writer().provider_event(id, *event)?;
            }
            Record::Metadata(Metadata::MagicNumber) => {}
            Record::String { .. } | Record::Thread { .. } => self.copier.note(item),
            // The provider's clock changes.
            Record::Initialization { .. } => self.current = None,
            Record::Metadata(_) => {
                self.switch_to(item)?;
            }
            record => {
                let clock = match self.current {
                    Some((current, clock)) if current == (self.archive, item.provider.id()) => {
                        clock
                    }
                    _ => self.switch_to(item)?,
                };
                if let Record::Event(event) = record {
                    self.note_flow(item, event);
                }
                self.copy(item, clock)?;
            }
        }
        Ok(())
    }

    /// Records the archive in which a flow begins.
    fn note_flow(&mut self, item: &Item<'_>, event: &Event<'_>) {
        let EventKind::FlowBegin { id } = event.kind else { return };
        let mut hasher = DefaultHasher::new();
        (item.text(event.category), item.text(event.name), id).hash(&mut hasher);
        let hash = hasher.finish();
        let before = match self.flows.len() < MAX_FLOWS {
            true => *self.flows.entry(hash).or_insert(self.archive),
            false => self.flows.get(&hash).copied().unwrap_or(self.archive),
        };
        self.summary.repeated_flows += u64::from(before != self.archive);
    }

    /// Switches to the provider of `item`, and returns its clock.
    fn switch_to(&mut self, item: &Item<'_>) -> Result<Clock, ConvertError> {
        let key = (self.archive, item.provider.id());
        match self.ids.get(&key) {
            Some(id) => self.copier.writer().section(*id)?,
            None => {
                self.add_provider(item.provider.id(), item.provider.name())?;
            }
        }
        let clock = self.timeline.clock(self.archive, item.provider);
        self.current = Some((key, clock));
        Ok(clock)
    }

    /// Adds a provider of the archive to the result, and returns its new id.
    fn add_provider(&mut self, provider: Option<u32>, name: &str) -> Result<u32, ConvertError> {
        let name = if name.is_empty() { &self.name } else { name };
        self.summary.providers += 1;
        let id = self.summary.providers;
        self.ids.insert((self.archive, provider), id);
        if !self.timeline.has_anchors(self.archive, provider) {
            self.summary.without_anchor.push((self.archive, name.to_owned()));
        }
        if let Some(nanos) = self.timeline.wall_clock_set(self.archive, provider) {
            self.summary.wall_clock_set.push((name.to_owned(), nanos));
        }
        self.copier.writer().provider(id, name)?;
        self.copier.writer().initialization(1_000_000_000)?;
        Ok(id)
    }

    fn copy(&mut self, item: &Item<'_>, clock: Clock) -> Result<(), ConvertError> {
        let is_event = matches!(&item.record, Record::Event(event) if !is_added(item, event));
        let count = if is_event { &mut self.summary.events } else { &mut self.summary.others };
        *count += 1;
        let change = |word, number| match word {
            Word::Ticks => clock.nanos(number),
            Word::Koid => clock.koid(number),
            Word::Other => number,
        };
        match &item.record {
            Record::Event(event) if has_tick_arguments(item, event) => {
                self.copier.copy_with_nanos(item, Some(&change), |ticks| clock.nanos(ticks))
            }
            _ => self.copier.copy(item, Some(&change)),
        }
    }
}

#[cfg(test)]
mod tests;
