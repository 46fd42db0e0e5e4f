//! A part of an archive, as an archive.
//!
//! What is in the time, and passes the filters, stays; with it stays what it
//! takes to understand it: providers and their clocks, names of processes and
//! threads, clock anchors, and what is told about loss in that time. Strings and
//! threads are registered anew, so only those in use are there.
//!
//! Durations and async operations that reach into the time stay whole, with
//! their begin before it or their end behind it. Of flows only the events in
//! the time stay. Records without a time and a category, such as blobs, stay
//! unless a filter is about what they do not have. Records of types that are
//! not known here are left out, since an index in them would mean something
//! else.

mod open;
mod select;

use std::io::{Read, Write};

use trace_format::{decode, encode, Event, EventKind, Item, Metadata, Reader, Record, Writer};

use crate::catalog::Catalog;
use crate::references::peek_thread;
use crate::{rewrite, ConvertError, Damage, Loss};
use open::{Held, Open};
pub(crate) use select::is_anchor;
use select::Filter;
pub use select::Selection;

/// What a slice has come to.
#[derive(Debug, Default)]
pub struct Summary {
    /// Records of the slice, without those about its tables.
    pub written: u64,
    /// Records that were left out.
    pub left_out: u64,
    /// Records of unknown types, left out too.
    pub unknown: u64,
    /// What is missing in the archive.
    pub damage: Damage,
}

/// Writes the selected part of an archive.
///
/// Memory grows with what is open at once, and with how many names there are.
///
/// # Errors
///
/// The input is not an archive, or reading or writing failed.
pub fn write<R: Read, W: Write>(
    mut reader: Reader<R>,
    selection: &Selection<'_>,
    output: W,
) -> Result<Summary, ConvertError> {
    let mut slicer = Slicer::new(selection, output)?;
    let mut damage = Damage::default();
    loop {
        match reader.next() {
            Ok(Some(item)) => {
                damage.item(&item);
                slicer.record(&item)?;
            }
            Ok(None) => break,
            Err(error) => damage.read_error(error)?,
        }
    }
    damage.stats = reader.stats();
    slicer.finish()?;
    Ok(Summary { damage, ..slicer.summary })
}

struct Slicer<'s, W> {
    writer: Writer<W>,
    filter: Filter<'s>,
    catalog: Catalog,
    open: Open,
    summary: Summary,
}

impl<'s, W: Write> Slicer<'s, W> {
    fn new(selection: &'s Selection<'s>, output: W) -> Result<Self, ConvertError> {
        Ok(Self {
            writer: Writer::new(output)?,
            filter: Filter::new(selection),
            catalog: Catalog::default(),
            open: Open::default(),
            summary: Summary::default(),
        })
    }

    fn record(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        self.catalog.note(item);
        match &item.record {
            Record::Metadata(metadata) => self.metadata(item, metadata),
            Record::Initialization { ticks_per_second } => {
                rewrite::written(self.writer.initialization(*ticks_per_second)).map(|_| ())
            }
            Record::String { .. } | Record::Thread { .. } => Ok(()),
            Record::Unknown(_) => {
                self.summary.unknown += 1;
                Ok(())
            }
            Record::Event(event) => self.event(item, event),
            record => match self.filter.record(item, record) {
                true => self.keep(item),
                false => self.leave_out(),
            },
        }
    }

    fn metadata(&mut self, item: &Item<'_>, metadata: &Metadata<'_>) -> Result<(), ConvertError> {
        rewrite::written(match metadata {
            Metadata::ProviderInfo { id, .. } => self.writer.provider(*id, item.provider.name()),
            Metadata::ProviderSection { id } => self.writer.section(*id),
            Metadata::ProviderEvent { id, event } => self.writer.provider_event(*id, *event),
            Metadata::MagicNumber => Ok(()),
        })
        .map(|_| ())
    }

    fn event(&mut self, item: &Item<'_>, event: &Event<'_>) -> Result<(), ConvertError> {
        let nanos = item.nanos(event.ticks);
        let is_told_always = self.filter.is_in_time(nanos) && Loss::of(item, event).is_some();
        if is_told_always || select::is_anchor(item, event) {
            return self.keep(item);
        }
        let label = self.catalog.label(item, event.category, event.name);
        let koids = peek_thread(item, event.thread);
        let is_wanted = self.filter.event(&self.catalog, label, koids);
        match event.kind {
            EventKind::DurationComplete { end } => {
                let is_in = self.filter.reaches_in(nanos, item.nanos(end));
                self.keep_if(is_wanted && is_in, item)
            }
            EventKind::DurationBegin => {
                let key = open::Key::thread(self.catalog.thread(item, event.thread));
                self.release(item, key, nanos)?;
                self.begin(item, key, label, is_wanted, nanos)
            }
            EventKind::DurationEnd => {
                let key = open::Key::thread(self.catalog.thread(item, event.thread));
                self.release(item, key, nanos)?;
                let is_any = self.catalog.name(label).is_empty();
                let begin = self.open.end(key, (!is_any).then_some(label));
                self.end(item, begin, is_wanted, nanos)
            }
            EventKind::AsyncBegin { id } => {
                let key = open::Key::operation(koids.process, label, id);
                self.begin(item, key, label, is_wanted, nanos)
            }
            EventKind::AsyncEnd { id } => {
                let key = open::Key::operation(koids.process, label, id);
                self.release(item, key, nanos)?;
                let begin = self.open.end(key, Some(label));
                self.end(item, begin, is_wanted, nanos)
            }
            _ => self.keep_if(is_wanted && self.filter.is_in_time(nanos), item),
        }
    }

    /// Takes a begin; one before the time is held until it is known whether it
    /// reaches into it.
    fn begin(
        &mut self,
        item: &Item<'_>,
        key: open::Key,
        label: crate::catalog::LabelId,
        is_wanted: bool,
        nanos: u64,
    ) -> Result<(), ConvertError> {
        if is_wanted && self.filter.is_before(nanos) {
            let mut room = rewrite::room();
            let record = rewrite::inline(item, &mut room, |_| {});
            let mut words: Vec<u64> = Vec::new();
            if encode::append(&mut words, &record).is_err() {
                return self.leave_out();
            }
            let bytes = encode::to_bytes(&words);
            let is_first = self.open.hold(key, label, Held { provider: item.provider.id(), bytes });
            self.summary.left_out += u64::from(!is_first);
            return Ok(());
        }
        let is_kept = is_wanted && self.filter.is_in_time(nanos);
        self.open.begin(key, label, is_kept);
        self.keep_if(is_kept, item)
    }

    /// Takes an end; `begin` tells whether its begin is in the slice.
    fn end(
        &mut self,
        item: &Item<'_>,
        begin: Option<bool>,
        is_wanted: bool,
        nanos: u64,
    ) -> Result<(), ConvertError> {
        // That of a begin before the archive's start stays if it is in the time.
        let alone = || is_wanted && self.filter.is_in_time(nanos);
        self.keep_if(begin.unwrap_or_else(alone), item)
    }

    /// Writes the begins that are held and open when the time begins.
    fn release(&mut self, item: &Item<'_>, key: open::Key, nanos: u64) -> Result<(), ConvertError> {
        if self.filter.is_before(nanos) {
            return Ok(());
        }
        for held in self.open.release(key) {
            self.write_held(&held)?;
        }
        self.section(item.provider.id())
    }

    fn write_held(&mut self, held: &Held) -> Result<(), ConvertError> {
        self.section(held.provider)?;
        if let Ok(record) = decode::record(&held.bytes) {
            self.summary.written += u64::from(rewrite::write(&mut self.writer, &record)?);
        }
        Ok(())
    }

    fn section(&mut self, provider: Option<u32>) -> Result<(), ConvertError> {
        match provider {
            Some(id) => rewrite::written(self.writer.section(id)).map(|_| ()),
            None => Ok(()),
        }
    }

    fn keep_if(&mut self, is_kept: bool, item: &Item<'_>) -> Result<(), ConvertError> {
        match is_kept {
            true => self.keep(item),
            false => self.leave_out(),
        }
    }

    fn keep(&mut self, item: &Item<'_>) -> Result<(), ConvertError> {
        match rewrite::needs_room(&item.record) {
            true => self.keep_within(item, &mut rewrite::room()),
            false => self.keep_within(item, &mut []),
        }
    }

    fn keep_within<'a>(
        &mut self,
        item: &Item<'a>,
        room: &'a mut rewrite::Room<'a>,
    ) -> Result<(), ConvertError> {
        let record = rewrite::inline(item, room, |_| {});
        match rewrite::write(&mut self.writer, &record)? {
            true => self.summary.written += 1,
            false => self.summary.left_out += 1,
        }
        Ok(())
    }

    #[allow(clippy::unnecessary_wraps)]
    fn leave_out(&mut self) -> Result<(), ConvertError> {
        self.summary.left_out += 1;
        Ok(())
    }

    /// Writes what has begun before the time and not ended.
    fn finish(&mut self) -> Result<(), ConvertError> {
        for held in self.open.release_all() {
            self.write_held(&held)?;
        }
        Ok(self.writer.flush()?)
    }
}

#[cfg(test)]
mod tests;
