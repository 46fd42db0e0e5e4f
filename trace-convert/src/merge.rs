//! Several archives as one.
//!
//! Each provider of each archive becomes one of its own, with a new id and its
//! name. Records are copied as they are, but for times and koids; only strings
//! and threads in use are there. All times become
//! nanoseconds of one clock, by the clock anchors that `trace record` writes
//! for each provider: when every archive with anchors is of the same boot of
//! the same machine, it is `CLOCK_BOOTTIME`, else `CLOCK_REALTIME` less the
//! earliest time of all, so that numbers stay small. The wall clock can be set
//! while a provider is recorded: it says when the first anchor was, and how long
//! things took is from `CLOCK_BOOTTIME`. Between the first and the last anchor of
//! a provider its clock is taken as steady. A provider without anchors keeps its
//! times, and is told in [`Summary::without_anchor`].
//!
//! The records of each archive stay in their order, archive behind archive:
//! readers put them in the order of time.
//!
//! # What is one, and what is not
//!
//! - A process that has the same koid in two archives of one boot is one process
//!   in the result, and so is one of an archive without anchors.
//! - Koids of another boot mean others: those that its kernel gave are raised, so
//!   that they differ; see [`Merger::raised_by`]. Processors keep their numbers.
//! - Ids of async operations, counters and objects are of their process.
//! - Ids of flows stay: a program may hand them to another one, on another
//!   machine too. Those of `trace_nonce!` are of one flow everywhere; others,
//!   that each program counts by itself, may be the same by chance. A flow begins
//!   once: [`Summary::flows_begun_again`] counts those that do not.

mod clock;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};

use trace_format::words::Word;
use trace_format::{Event, EventKind, Item, Metadata, Reader, Record};

use crate::rewrite::{tells_ticks, Copier};
use crate::ConvertError;
pub use clock::Clocks;
use clock::{Clock, Timeline};
use trace_analyze::Damage;

/// The most flows of which it is remembered where they begin.
const MAX_FLOWS: usize = 1 << 20;

/// What a merge has come to.
#[derive(Debug, Default)]
pub struct Summary {
    /// Records written, without those about tables.
    pub written: u64,
    /// Records and arguments of unknown types. They are copied as they are:
    /// times and koids in them are not converted.
    pub unknown: u64,
    /// Providers in the result.
    pub providers: u32,
    /// Providers whose clock is not known, by the archive's place and by name.
    pub without_anchor: Vec<(usize, String)>,
    /// Providers while which were recorded the wall clock was set, by name and
    /// by how many nanoseconds, if archives are aligned by it.
    pub wall_clock_set: Vec<(String, i64)>,
    /// Flows that begin in more than one archive.
    pub flows_begun_again: u64,
    /// What is missing in each archive.
    pub damage: Vec<Damage>,
}

/// Puts archives together.
///
/// Each archive is read twice: first for its clocks, with [`Clocks::read`],
/// then for its records.
pub struct Merger<W> {
    copier: Copier<W>,
    timeline: Timeline,
    summary: Summary,
    /// The providers of the archive that is added, with the number of it.
    ids: HashMap<(usize, Option<u32>), u32>,
    /// In which archive flows begin, by a hash of what they are.
    flows: HashMap<u64, usize>,
    /// Whose records are written now, and what its clock says.
    current: Option<((usize, Option<u32>), Clock)>,
}

impl<W> std::fmt::Debug for Merger<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merger").field("summary", &self.summary).finish_non_exhaustive()
    }
}

impl<W: Write> Merger<W> {
    /// Starts an archive of those with these clocks, which are to be added in
    /// the same order.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn new(output: W, clocks: &[Clocks]) -> Result<Self, ConvertError> {
        Ok(Self {
            copier: Copier::new(output)?,
            timeline: Timeline::new(clocks),
            summary: Summary::default(),
            ids: HashMap::new(),
            flows: HashMap::new(),
            current: None,
        })
    }

    /// Tells whether all times are of `CLOCK_REALTIME`, because the archives
    /// are not of one boot of one machine.
    #[must_use]
    pub fn is_realtime(&self) -> bool {
        self.timeline.is_realtime()
    }

    /// Returns what is added to the koids of processes and threads of an archive,
    /// because it is of another boot than the first.
    #[must_use]
    pub fn raised_by(&self, archive: usize) -> u64 {
        self.timeline.raised_by(archive)
    }

    /// Adds all records of the next archive. `name` is for a provider that has
    /// none.
    ///
    /// # Errors
    ///
    /// The input is not an archive, or reading or writing failed.
    pub fn add<R: Read>(&mut self, name: &str, reader: Reader<R>) -> Result<(), ConvertError> {
        let archive = self.summary.damage.len();
        self.copier.next_archive();
        let damage = Damage::of_each(reader, |item| self.record(archive, name, item))?;
        self.summary.unknown += damage.stats.unknown_records + damage.audit.unknown_arguments;
        self.summary.damage.push(damage);
        Ok(())
    }

    /// Ends the archive.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn finish(mut self) -> Result<Summary, ConvertError> {
        self.copier.writer().flush()?;
        Ok(self.summary)
    }

    fn record(&mut self, archive: usize, name: &str, item: &Item<'_>) -> Result<(), ConvertError> {
        match &item.record {
            Record::Metadata(Metadata::ProviderEvent { id, event }) => {
                let id = match self.ids.get(&(archive, Some(*id))) {
                    Some(id) => *id,
                    None => {
                        self.current = None;
                        self.introduce((archive, Some(*id)), name)?
                    }
                };
                self.copier.writer().provider_event(id, *event)?;
            }
            Record::Metadata(Metadata::MagicNumber) => {}
            Record::String { .. } | Record::Thread { .. } => self.copier.note(item),
            // Its clock is another one now.
            Record::Initialization { .. } => self.current = None,
            Record::Metadata(_) => {
                self.turn_to(archive, name, item)?;
            }
            record => {
                let clock = match self.current {
                    Some((current, clock)) if current == (archive, item.provider.id()) => clock,
                    _ => self.turn_to(archive, name, item)?,
                };
                if let Record::Event(event) = record {
                    self.note_flow(archive, item, event);
                }
                self.keep(item, clock)?;
            }
        }
        Ok(())
    }

    /// Takes note of where a flow begins.
    fn note_flow(&mut self, archive: usize, item: &Item<'_>, event: &Event<'_>) {
        let EventKind::FlowBegin { id } = event.kind else { return };
        let mut hasher = DefaultHasher::new();
        (item.text(event.category), item.text(event.name), id).hash(&mut hasher);
        let hash = hasher.finish();
        let before = match self.flows.len() < MAX_FLOWS {
            true => *self.flows.entry(hash).or_insert(archive),
            false => self.flows.get(&hash).copied().unwrap_or(archive),
        };
        self.summary.flows_begun_again += u64::from(before != archive);
    }

    /// Makes the provider of `item` the one that is written to; returns its
    /// clock.
    fn turn_to(
        &mut self,
        archive: usize,
        name: &str,
        item: &Item<'_>,
    ) -> Result<Clock, ConvertError> {
        self.provider(archive, name, item)?;
        let clock = self.timeline.clock(archive, item.provider);
        self.current = Some(((archive, item.provider.id()), clock));
        Ok(clock)
    }

    fn provider(
        &mut self,
        archive: usize,
        name: &str,
        item: &Item<'_>,
    ) -> Result<(), ConvertError> {
        let key = (archive, item.provider.id());
        if let Some(id) = self.ids.get(&key) {
            return Ok(self.copier.writer().section(*id)?);
        }
        let name = match item.provider.name() {
            "" => name,
            name => name,
        };
        self.introduce(key, name).map(|_| ())
    }

    /// Makes a provider of the result; returns its id.
    fn introduce(&mut self, key: (usize, Option<u32>), name: &str) -> Result<u32, ConvertError> {
        self.summary.providers += 1;
        let id = self.summary.providers;
        self.ids.insert(key, id);
        let (archive, provider) = key;
        if !self.timeline.knows(archive, provider) {
            self.summary.without_anchor.push((archive, name.to_owned()));
        }
        if let Some(nanos) = self.timeline.wall_clock_set(archive, provider) {
            self.summary.wall_clock_set.push((name.to_owned(), nanos));
        }
        self.copier.writer().provider(id, name)?;
        self.copier.writer().initialization(1_000_000_000)?;
        Ok(id)
    }

    fn keep(&mut self, item: &Item<'_>, clock: Clock) -> Result<(), ConvertError> {
        self.summary.written += 1;
        let change = |word, number| match word {
            Word::Ticks => clock.nanos(number),
            Word::Koid => clock.koid(number),
            Word::Other => number,
        };
        match &item.record {
            Record::Event(event) if tells_ticks(item, event) => {
                self.copier.copy_note(item, Some(&change), |ticks| clock.nanos(ticks))
            }
            _ => self.copier.copy(item, Some(&change)),
        }
    }
}

#[cfg(test)]
mod tests;
