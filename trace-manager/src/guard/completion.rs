//! The guard's side when the manager is dead: completing the archive.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use trace_protocol::archive;
use trace_protocol::file::NewFile;
use trace_protocol::words::as_bytes;

use super::remaining::RemainingRecords;
use super::state::{GuardState, GuardedProvider};
use super::GuardOutcome;
use crate::category_filter::CategoryFilter;
use crate::clock::{counter_rate, sample_after};
use crate::ledger::numbers::session;
use crate::output::has_records;
use crate::records::Spares;

/// The time in which providers leave their buffers. They see at once that the manager has ended.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(2);

/// Completes the archive, if the manager did not.
pub(super) fn complete(mut state: GuardState) -> GuardOutcome {
    if state.ledger.get(session::STATE) == session::ABANDONED {
        return GuardOutcome::Nothing;
    }
    let former = state.former_part.take().filter(NewFile::is_there);
    // The manager had completed it, but not renamed it.
    let former = former.map(|former| name_archive(former, Ok(0)));
    let last = complete_last(state);
    match former {
        Some(failed @ GuardOutcome::Failed { .. }) => failed,
        _ => last,
    }
}

/// Completes the archive, or its last part.
fn complete_last(mut state: GuardState) -> GuardOutcome {
    let archive = state.archive.take();
    match (state.ledger.get(session::STATE), archive) {
        (session::RUNNING, None) => GuardOutcome::Stream,
        (_, None) => GuardOutcome::Nothing,
        (session::WRITTEN, Some(archive)) => match archive.is_there() {
            true => name_archive(archive, Ok(0)),
            false => GuardOutcome::Nothing,
        },
        (session::FAILED, Some(archive)) => {
            let source = io::Error::other("the manager could not write all records");
            name_archive(archive, Err(source))
        }
        (_, Some(archive)) => {
            wait_for_providers(state.providers.values_mut());
            let completed = Completion::new(archive.file(), &state).run(state);
            name_archive(archive, completed)
        }
    }
}

/// Renames a completed archive to its final name. One without records does not replace another.
fn name_archive(archive: NewFile, completed: io::Result<u64>) -> GuardOutcome {
    let (name, partial) = (archive.place().path(), archive.partial_path().unwrap_or_default());
    if completed.is_ok() && archive.place().has_content() && !has_records(archive.file()) {
        archive.discard();
        return GuardOutcome::Nothing;
    }
    match completed.and_then(|missing| archive.complete_with_backup().map(|_| missing)) {
        Ok(missing) => GuardOutcome::Completed { archive: name, missing },
        Err(source) => GuardOutcome::Failed { partial, source },
    }
}

/// Waits until each provider has closed its packet socket: it no longer records then. Notes which
/// ones have.
fn wait_for_providers<'a>(providers: impl Iterator<Item = &'a mut GuardedProvider>) {
    let deadline = Instant::now() + PROVIDER_TIMEOUT;
    for provider in providers {
        let left = deadline.saturating_duration_since(Instant::now());
        // No event is requested: poll always reports the end of the peer.
        let mut fds = [PollFd::new(&provider.packets, PollFlags::empty())];
        let milliseconds = i32::try_from(left.as_millis()).unwrap_or(i32::MAX);
        let mut polled = poll(&mut fds, milliseconds);
        while let Err(rustix::io::Errno::INTR) = polled {
            polled = poll(&mut fds, milliseconds);
        }
        provider.has_left = polled.is_ok_and(|ready| ready != 0);
    }
}

/// An archive that is being completed.
struct Completion<'a> {
    file: &'a File,
    /// Bytes of complete records in the file.
    length: u64,
    /// Bytes of the parts before the file.
    part_start: u64,
    rate: u64,
    words: Vec<u64>,
    /// Selects the archive's records: providers may record more for other sessions.
    filter: CategoryFilter,
}

impl<'a> Completion<'a> {
    fn new(file: &'a File, state: &GuardState) -> Self {
        let rate = counter_rate(&state.first, &sample_after(&state.first));
        let rate = rate.unwrap_or(1_000_000_000);
        let filter = CategoryFilter::new(&state.categories, Spares::default());
        let part_start = state.part_start;
        let length = state.length().saturating_sub(part_start);
        Self { file, length, part_start, rate, words: Vec::new(), filter }
    }

    /// Appends the missing records. Returns the number of lost copies.
    fn run(mut self, state: GuardState) -> io::Result<u64> {
        self.file.set_len(self.length)?;
        let result = self.append(state);
        if result.is_err() {
            // The file ends after a complete record.
            self.file.set_len(self.length)?;
        }
        result
    }

    fn append(&mut self, mut state: GuardState) -> io::Result<u64> {
        let (written, mut missing) = (self.part_start..=self.part_start + self.length, 0);
        if self.length == 0 {
            archive::magic(&mut self.words);
            self.flush(0)?;
        }
        let mut rates = std::mem::take(&mut state.rates);
        rates.extend(state.providers.values().filter_map(|it| it.rate_offset(&written)));
        for (id, provider) in std::mem::take(&mut state.providers) {
            let slots = state.take_slots(id);
            if provider.is_closed(*written.end()) {
                continue;
            }
            let Some(remaining) = RemainingRecords::new(provider, slots, &written) else {
                continue;
            };
            missing += remaining.missing;
            self.append_provider(remaining)?;
        }
        for offset in rates {
            self.file.write_all_at(&self.rate.to_le_bytes(), offset)?;
        }
        Ok(missing)
    }

    fn append_provider(&mut self, mut remaining: RemainingRecords) -> io::Result<()> {
        let (id, from) = remaining.selection();
        self.filter.add(id, from);
        remaining.begin(self.rate, &mut self.words);
        self.flush(id)?;
        while remaining.next_copy(&mut self.words) {
            self.flush_limited(&mut remaining)?;
        }
        remaining.last_records(&mut self.words);
        self.flush_limited(&mut remaining)?;
        remaining.close(&mut self.words);
        self.flush(id)
    }

    /// Writes the selected records of a provider, up to the session's own limit.
    fn flush_limited(&mut self, remaining: &mut RemainingRecords) -> io::Result<()> {
        self.select(remaining.selection().0);
        remaining.limit(&mut self.words);
        self.write()
    }

    /// Writes the selected records of a provider.
    fn flush(&mut self, provider: u32) -> io::Result<()> {
        self.select(provider);
        self.write()
    }

    fn select(&mut self, provider: u32) {
        if let Some(selected) = self.filter.select_words(provider, &self.words) {
            self.words = selected;
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let bytes = as_bytes(&self.words);
        self.file.write_all_at(bytes, self.length)?;
        self.length += bytes.len() as u64;
        self.words.clear();
        Ok(())
    }
}
