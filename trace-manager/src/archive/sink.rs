//! An archive as a sink: its records in order, and the numbers that the guard completes it by.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use trace_protocol::archive;
use trace_protocol::buffer::consumer::SaveSlot;
use trace_protocol::buffer::header::Layout;
use trace_protocol::message::ClockSource;

use super::spool::{Block, Notes, Spool};
use super::target::{ArchiveTarget, Output};
use super::writer::{ArchiveWriter, Beginning, WriterStatus};
use crate::error::ManagerError;
use crate::guard::{Account, Keeper, Mark, Pool};
use crate::records::{Records, Spares, SECTION};
use crate::sink::{Ending, Finish, Opening, Sink};

/// An archive in the Fuchsia trace format.
#[derive(Debug)]
pub struct ArchiveSink {
    writer: ArchiveWriter,
    /// If it is set when all is written, the archive is thrown away.
    unwanted: Arc<AtomicBool>,
    spares: Spares,
    guarding: Option<Guarding>,
    unused: Unused,
    /// The provider, by its id, whose records come last.
    last_section: Option<u32>,
    /// Bytes of the providers that have not left.
    bytes: BTreeMap<u32, u64>,
}

/// Throws an archive away that its caller drops without a session.
#[derive(Debug, Default)]
struct Unused(Option<(Arc<Spool>, Arc<AtomicBool>)>);

impl Drop for Unused {
    fn drop(&mut self) {
        if let Some((spool, unwanted)) = self.0.take() {
            unwanted.store(true, Ordering::Release);
            spool.close();
        }
    }
}

/// What the guard has of an archive.
#[derive(Debug)]
struct Guarding {
    keeper: Keeper,
    pool: Pool,
    accounts: BTreeMap<u32, Account>,
}

impl ArchiveSink {
    /// Creates an archive beside that of a session. A guard does not complete it, and the session's
    /// snapshots are not of it.
    ///
    /// # Errors
    ///
    /// [`ManagerError::CreateArchive`]; [`ManagerError::EventLoop`] when the process has no thread
    /// left.
    pub fn create(target: ArchiveTarget) -> Result<Self, ManagerError> {
        let (output, unwanted) = (Output::open(target)?, Arc::default());
        let sink = Self::begin(output, None, None, Arc::clone(&unwanted), Spares::default());
        let mut sink = sink.map_err(ManagerError::EventLoop)?;
        sink.unused = Unused(Some((sink.writer.spool(), unwanted)));
        Ok(sink)
    }

    /// Begins the archive `output`, of which a guard is told if there is a keeper. `layout` is the
    /// usual one of a buffer.
    pub(crate) fn begin(
        output: Output,
        keeper: Option<Keeper>,
        layout: Option<Layout>,
        unwanted: Arc<AtomicBool>,
        spares: Spares,
    ) -> std::io::Result<Self> {
        let writer = ArchiveWriter::spawn(output, keeper.clone(), Arc::clone(&unwanted))?;
        let guarding = keeper.map(|keeper| Guarding {
            pool: Pool::new(keeper.clone(), layout),
            keeper,
            accounts: BTreeMap::new(),
        });
        let bytes = BTreeMap::new();
        let unused = Unused::default();
        let last_section = None;
        let mut sink = Self { writer, unwanted, spares, guarding, unused, last_section, bytes };
        let mut words = sink.spares.take();
        archive::magic(&mut words);
        sink.write(words, Notes::default());
        Ok(sink)
    }

    /// Returns memory for a copy of a provider's rolling buffer where the guard sees it too, if
    /// there is a guard that has the provider.
    pub(crate) fn place_copy(
        &mut self,
        provider: u32,
        layout: &Layout,
        providers: usize,
    ) -> Option<SaveSlot> {
        let guarding = self.guarding.as_mut()?;
        guarding.accounts.get(&provider)?;
        guarding.pool.place(layout, providers)
    }

    /// Says that a rolling buffer was copied, before its provider is told.
    pub(crate) fn copied(&self, provider: u32, wrapped_count: u32, seen: bool) {
        if let Some(account) = self.account(provider) {
            account.copied(wrapped_count, seen);
        }
    }

    /// Tells whether the caller has thrown the archive away.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.unwanted.load(Ordering::Acquire)
    }

    /// Returns what the writer has done so far.
    pub(crate) fn status(&self) -> Arc<WriterStatus> {
        self.writer.status()
    }

    /// Returns what the archive holds so far.
    ///
    /// # Errors
    ///
    /// [`ManagerError::SnapshotOfStream`] where it cannot be read again.
    pub(crate) fn beginning(&self) -> Result<Beginning, ManagerError> {
        self.writer.beginning()
    }

    /// Returns the bytes of a provider in the archive; forgets those of one that has left.
    pub(crate) fn take_bytes(&mut self, provider: u32) -> u64 {
        self.bytes.remove(&provider).unwrap_or(0)
    }

    fn account(&self, provider: u32) -> Option<&Account> {
        self.guarding.as_ref()?.accounts.get(&provider)
    }

    /// Writes words of which nobody else has any.
    fn write(&mut self, words: Vec<u64>, notes: Notes) {
        let words = self.spares.share(words);
        self.writer.push(Block { words, start: 0, notes });
    }

    /// Returns what the guard is to know when these records are written.
    fn mark(&mut self, records: &Records) -> Option<Mark> {
        let account = self.account(records.provider)?;
        if !records.is_last {
            account.told(records.told);
            return Some(account.save(records.slots.clone()));
        }
        let mark = account.closing(records.slots.clone());
        self.guarding.as_mut()?.accounts.remove(&records.provider);
        Some(mark)
    }

    /// Where in the records' words those begin that the archive gets.
    fn start(&mut self, records: &Records) -> usize {
        if records.words().is_empty() {
            return records.words.len();
        }
        match self.last_section.replace(records.provider) == Some(records.provider) {
            true => SECTION,
            false => 0,
        }
    }
}

impl Sink for ArchiveSink {
    fn open(&mut self, opening: &Opening<'_>) {
        let (identity, rate) = (opening.identity(), opening.ticks_per_second());
        let account = self.guarding.as_ref().and_then(|it| it.keeper.join(&opening.joining));
        let mut words = self.spares.take();
        let place = archive::opening(&mut words, identity, rate, opening.now());
        let rate = (identity.clock == ClockSource::CpuCounter).then_some(place);
        let before_end = rate.map_or(0, |place| (words.len() - place) as u64 * 8);
        let mark = account.as_ref().map(|account| account.opening(before_end));
        if let (Some(account), Some(guarding)) = (account, &mut self.guarding) {
            guarding.accounts.insert(identity.id, account);
        }
        self.last_section = Some(identity.id);
        self.bytes.insert(identity.id, words.len() as u64 * 8);
        self.write(words, Notes { rate, mark });
    }

    fn take(&mut self, records: &Records) {
        let notes = Notes { rate: None, mark: self.mark(records) };
        let block = Block { words: records.words.clone(), start: self.start(records), notes };
        *self.bytes.entry(records.provider).or_default() += block.bytes().len() as u64;
        self.writer.push(block);
    }

    fn finish(mut self: Box<Self>, ending: Ending) -> Finish {
        self.unused.0 = None;
        if ending.is_discarded {
            self.unwanted.store(true, Ordering::Release);
        }
        let finished = self.writer.finish(ending.counter_rate);
        Finish::new(move || finished.join())
    }
}
