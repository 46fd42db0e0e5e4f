//! Joins blobs that were split into several records.
//!
//! A program writes large data in parts. Parts are consecutive blobs of one name, type and thread,
//! of which only the last one is not full; or large blobs with the arguments `part` and `parts`; or
//! large blobs named `NAME (PART/PARTS)`. If a part is missing, the others stay separate.

use std::collections::BTreeMap;

use trace_analyze::{arguments, carried};
use trace_format::layout::{BlobType, MAX_BLOB_BYTES};
use trace_format::words::Word;
use trace_format::{Blob, Item, LargeBlob, Metadata, Reader, Record, ThreadKoids};

use crate::rewrite::{self, Copier, CHUNK_THREAD};
use crate::ConvertError;

/// The maximum memory of incomplete blobs, in bytes.
const MAX_WAITING_BYTES: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Incomplete blobs.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    waiting: BTreeMap<Key, Parts>,
    /// The memory of the waiting parts.
    bytes: usize,
    /// The blob whose next part has to be the next record, because its parts have no numbers.
    adjacent: Option<Key>,
}

/// The identity of a blob, which its parts share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    provider: Option<u32>,
    category: String,
    name: String,
    blob_type: Option<u64>,
    place: Option<(ThreadKoids, u64)>,
}

/// The parts of a blob, as an archive: if a part is missing, they are passed on as separate
/// records.
#[derive(Debug, Default)]
struct Parts {
    archive: Vec<u8>,
    /// The number of each part, in the order of the archive.
    numbers: Vec<u64>,
}

/// The place of a record within a blob.
#[derive(Debug)]
struct Part {
    key: Key,
    number: u64,
    /// The number of parts, if it is known.
    count: Option<u64>,
}

impl Blobs {
    /// Passes a record on to `sink`. Parts of a blob wait until the blob is complete.
    #[inline]
    pub(crate) fn push(
        &mut self,
        item: &Item<'_>,
        sink: &mut impl FnMut(&Item<'_>),
    ) -> Result<(), ConvertError> {
        match &item.record {
            Record::Blob(_) | Record::LargeBlob(_) => return self.push_blob(item, sink),
            Record::String { .. } | Record::Thread { .. } => {}
            Record::Metadata(Metadata::ProviderSection { .. }) => {}
            _ if self.adjacent.is_some() => self.interrupt(sink),
            _ => {}
        }
        sink(item);
        Ok(())
    }

    #[cold]
    fn push_blob(
        &mut self,
        item: &Item<'_>,
        sink: &mut impl FnMut(&Item<'_>),
    ) -> Result<(), ConvertError> {
        let part = Part::of(item);
        if self.adjacent.as_ref() != part.as_ref().map(|part| &part.key) {
            self.interrupt(sink);
        }
        let Some(mut part) = part else {
            sink(item);
            return Ok(());
        };
        let others = self.waiting.get(&part.key).map_or(0, |parts| parts.numbers.len()) as u64;
        if let Record::Blob(blob) = &item.record {
            part.number = others + 1;
            part.count = (blob.payload.len() != MAX_BLOB_BYTES).then_some(part.number);
            self.adjacent = part.count.is_none().then(|| part.key.clone());
        }
        match part.count == Some(others + 1) {
            true => self.join(item, part, sink),
            false => self.wait(item, part, sink),
        }
    }

    /// Keeps a part until the blob is complete.
    fn wait(
        &mut self,
        item: &Item<'_>,
        part: Part,
        sink: &mut impl FnMut(&Item<'_>),
    ) -> Result<(), ConvertError> {
        let mut parts = self.take(&part.key);
        parts.add(item, part.number)?;
        self.bytes += bytes_of(&part.key, &parts);
        self.waiting.insert(part.key, parts);
        if self.bytes > MAX_WAITING_BYTES {
            self.finish(sink);
        }
        Ok(())
    }

    /// Passes on a blob. `item` is its last part to arrive.
    fn join(
        &mut self,
        item: &Item<'_>,
        part: Part,
        sink: &mut impl FnMut(&Item<'_>),
    ) -> Result<(), ConvertError> {
        let parts = self.take(&part.key);
        let mut pieces = parts.pieces();
        pieces.push((part.number, payload(&item.record).to_owned()));
        pieces.sort_by_key(|(number, _)| *number);
        if pieces.iter().zip(1..).any(|((number, _), expected)| *number != expected) {
            parts.each(sink);
            sink(item);
            return Ok(());
        }
        let joined: Vec<u8> = pieces.into_iter().flat_map(|(_, piece)| piece).collect();
        pass_joined(item, &part.key.name, &joined, sink);
        Ok(())
    }

    /// Passes on the parts of a blob whose next part is missing.
    fn interrupt(&mut self, sink: &mut impl FnMut(&Item<'_>)) {
        if let Some(key) = self.adjacent.take() {
            self.take(&key).each(sink);
        }
    }

    /// Removes and returns the waiting parts of a blob.
    fn take(&mut self, key: &Key) -> Parts {
        let parts = self.waiting.remove(key);
        self.bytes -= parts.as_ref().map_or(0, |parts| bytes_of(key, parts));
        parts.unwrap_or_default()
    }

    /// Passes on the parts of incomplete blobs.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(&Item<'_>)) {
        self.bytes = 0;
        self.adjacent = None;
        for parts in std::mem::take(&mut self.waiting).into_values() {
            parts.each(sink);
        }
    }
}

/// Returns the memory of waiting parts. Nodes of the map are at least half full.
fn bytes_of(key: &Key, parts: &Parts) -> usize {
    let texts = key.category.capacity() + key.name.capacity();
    let entry = 2 * (size_of::<Key>() + size_of::<Parts>());
    entry + texts + parts.archive.capacity() + parts.numbers.capacity() * size_of::<u64>()
}

impl Part {
    /// Returns the place of a record within a blob; `None` if it cannot be a part. A plain blob has
    /// no numbers: whether it is a part depends on the records before it.
    fn of(item: &Item<'_>) -> Option<Self> {
        match &item.record {
            Record::Blob(blob) => Self::of_blob(item, blob),
            Record::LargeBlob(blob) => Self::of_large_blob(item, blob),
            _ => None,
        }
    }

    fn of_blob(item: &Item<'_>, blob: &Blob<'_>) -> Option<Self> {
        let name = item.text(blob.name);
        if blob.blob_type == BlobType::PERFETTO || carried::is_carried(&name) {
            return None;
        }
        // The parts of two threads may be consecutive.
        let thread = item.provider.thread(CHUNK_THREAD).unwrap_or(ThreadKoids::UNKNOWN);
        let key = Key {
            provider: item.provider.id(),
            category: String::new(),
            name: name.into_owned(),
            blob_type: Some(blob.blob_type.bits()),
            place: Some((thread, 0)),
        };
        Some(Self { key, number: 1, count: None })
    }

    fn of_large_blob(item: &Item<'_>, blob: &LargeBlob<'_>) -> Option<Self> {
        let (provider, blob_type) = (item.provider.id(), None);
        let category = item.text(blob.category).into_owned();
        let name = item.text(blob.name);
        let Some(event) = &blob.event else {
            let (name, number, count) = numbered(&name)?;
            let (name, place) = (name.to_owned(), None);
            let key = Key { provider, category, name, blob_type, place };
            return Some(Self { key, number, count: Some(count) });
        };
        // An unknown argument may refer to any string, and the part would have to keep all of them.
        if event.arguments.unknown().next().is_some() {
            return None;
        }
        let number = |name| arguments::named_unsigned(item, &event.arguments, name);
        let (number, count) = (number("part")?, number("parts"));
        let place = Some((item.thread(event.thread), event.ticks));
        let key = Key { provider, category, name: name.into_owned(), blob_type, place };
        Some(Self { key, number, count })
    }
}

impl Parts {
    /// Adds a part, with its time in nanoseconds, and with its strings and threads: their indexes
    /// may get other values later.
    fn add(&mut self, item: &Item<'_>, number: u64) -> Result<(), ConvertError> {
        let nanos = |word, value| match word {
            Word::Ticks => item.nanos(value),
            _ => value,
        };
        let mut copier = Copier::new(std::mem::take(&mut self.archive))?;
        copier.copy(item, Some(&nanos))?;
        self.archive = std::mem::take(copier.writer().output_mut());
        self.numbers.push(number);
        Ok(())
    }

    /// Returns the payloads of the parts, with their numbers.
    fn pieces(&self) -> Vec<(u64, Vec<u8>)> {
        let mut numbers = self.numbers.iter().copied();
        let mut pieces = Vec::new();
        self.each(&mut |item| {
            pieces.extend(numbers.next().map(|number| (number, payload(&item.record).to_owned())));
        });
        pieces
    }

    fn each(&self, sink: &mut impl FnMut(&Item<'_>)) {
        let mut reader = Reader::new(&self.archive[..]);
        while let Ok(Some(item)) = reader.next() {
            if let Record::Blob(_) | Record::LargeBlob(_) = item.record {
                sink(&item);
            }
        }
    }
}

/// Passes a joined blob on, without the arguments for its parts.
fn pass_joined(item: &Item<'_>, name: &str, data: &[u8], sink: &mut impl FnMut(&Item<'_>)) {
    let mut buffer = rewrite::argument_buffer();
    let arguments = item.record.arguments();
    let is_number = |name: &str| matches!(name, "part" | "parts");
    let others = arguments.iter().filter(|argument| !is_number(&item.text(argument.name)));
    let count = buffer.iter_mut().zip(others).map(|(place, argument)| *place = argument).count();
    let others = buffer.get(..count).unwrap_or_default().into();
    let record = match item.record {
        Record::Blob(blob) => Record::Blob(Blob { payload: data, ..blob }),
        Record::LargeBlob(mut blob) => {
            if let Some(event) = &mut blob.event {
                event.arguments = others;
            }
            Record::LargeBlob(LargeBlob { name: name.into(), payload: data, ..blob })
        }
        record => record,
    };
    sink(&Item { record, ..*item });
}

fn payload<'a>(record: &Record<'a>) -> &'a [u8] {
    match record {
        Record::Blob(blob) => blob.payload,
        Record::LargeBlob(blob) => blob.payload,
        _ => &[],
    }
}

/// Returns the name, part and number of parts in `NAME (PART/PARTS)`.
fn numbered(name: &str) -> Option<(&str, u64, u64)> {
    let (name, numbers) = name.strip_suffix(')')?.rsplit_once(" (")?;
    let (number, count) = numbers.split_once('/')?;
    Some((name, number.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests;
