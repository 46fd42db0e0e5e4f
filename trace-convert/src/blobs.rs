//! Blobs that were split into several records, put together.
//!
//! A program writes large data in parts: blobs of one name and type, of which only the last is not
//! full; large blobs with the arguments `part` and `parts`, or named `NAME (PART/PARTS)`.

use std::collections::btree_map::{BTreeMap, Entry};

use trace_analyze::{arguments, carried};
use trace_format::layout::{BlobType, MAX_BLOB_BYTES};
use trace_format::words::Word;
use trace_format::{Item, LargeBlob, Reader, Record, ThreadKoids};

use crate::rewrite::{self, Copier};
use crate::ConvertError;

/// The most that waits for the rest of a blob, in bytes.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// The parts of blobs whose other parts are still to come.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    waiting: BTreeMap<Key, Parts>,
    bytes: usize,
}

/// What the parts of a blob have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    provider: Option<u32>,
    category: String,
    name: String,
    blob_type: Option<u64>,
    place: Option<(ThreadKoids, u64)>,
}

/// The parts of a blob: an archive of the records, so that they stay what they are if one is
/// missing.
#[derive(Debug)]
struct Parts {
    archive: Copier<Vec<u8>>,
    /// The number of each, in the order of the archive.
    numbers: Vec<u64>,
}

/// A part of a blob.
#[derive(Debug)]
struct Part {
    key: Key,
    number: u64,
    /// How many there are, if that is known.
    count: Option<u64>,
}

impl Blobs {
    /// Takes a blob; passes it on to `sink`, once it is whole.
    #[cold]
    pub(crate) fn push(
        &mut self,
        item: &Item<'_>,
        sink: &mut impl FnMut(&Item<'_>),
    ) -> Result<(), ConvertError> {
        let Some(part) = self.part(item) else {
            sink(item);
            return Ok(());
        };
        let length = payload(&item.record).len();
        if self.bytes + length > MAX_WAITING_BYTES {
            self.finish(sink);
        }
        let is_last = part.count.is_some_and(|count| {
            let others = self.waiting.get(&part.key).map_or(0, |parts| parts.numbers.len());
            others as u64 + 1 == count
        });
        if !is_last {
            self.bytes += length;
            let parts = match self.waiting.entry(part.key) {
                Entry::Occupied(parts) => parts.into_mut(),
                Entry::Vacant(place) => place.insert(Parts::new()?),
            };
            return parts.add(item, part.number);
        }
        let mut pieces = vec![(part.number, payload(&item.record).to_owned())];
        pieces.extend(self.waiting.remove(&part.key).into_iter().flat_map(Parts::pieces));
        pieces.sort_by_key(|(number, _)| *number);
        let whole: Vec<u8> = pieces.into_iter().flat_map(|(_, piece)| piece).collect();
        self.bytes = self.bytes.saturating_sub(whole.len());
        sink_whole(item, &part.key.name, &whole, sink);
        Ok(())
    }

    /// Passes on what is not whole.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(&Item<'_>)) {
        self.bytes = 0;
        for parts in std::mem::take(&mut self.waiting).into_values() {
            parts.each(sink);
        }
    }

    /// Returns what a record is a part of; `None` if it is whole.
    fn part(&self, item: &Item<'_>) -> Option<Part> {
        let provider = item.provider.id();
        match &item.record {
            Record::Blob(blob) if blob.blob_type != BlobType::PERFETTO => {
                let (category, name) = (String::new(), item.text(blob.name).into_owned());
                let blob_type = Some(blob.blob_type.bits());
                let is_full = blob.payload.len() == MAX_BLOB_BYTES && !carried::is_carried(&name);
                let key = Key { provider, category, name, blob_type, place: None };
                let number = self.waiting.get(&key).map_or(0, |parts| parts.numbers.len()) as u64;
                let count = (!is_full).then_some(number + 1);
                (is_full || number > 0).then_some(Part { key, number, count })
            }
            Record::LargeBlob(blob) => {
                let category = item.text(blob.category).into_owned();
                let name = item.text(blob.name);
                let Some(event) = &blob.event else {
                    let (name, number, count) = numbered(&name)?;
                    let (name, blob_type, place) = (name.to_owned(), None, None);
                    let key = Key { provider, category, name, blob_type, place };
                    return Some(Part { key, number, count: Some(count) });
                };
                let number = |name| arguments::named_unsigned(item, &event.arguments, name);
                let (number, count) = (number("part")?, number("parts"));
                let place = Some((item.thread(event.thread), event.ticks));
                let (name, blob_type) = (name.into_owned(), None);
                Some(Part {
                    key: Key { provider, category, name, blob_type, place },
                    number,
                    count,
                })
            }
            _ => None,
        }
    }
}

impl Parts {
    fn new() -> Result<Self, ConvertError> {
        Ok(Self { archive: Copier::new(Vec::new())?, numbers: Vec::new() })
    }

    /// Adds a part, with its time in nanoseconds.
    fn add(&mut self, item: &Item<'_>, number: u64) -> Result<(), ConvertError> {
        let nanos = |word, value| match word {
            Word::Ticks => item.nanos(value),
            _ => value,
        };
        self.numbers.push(number);
        self.archive.copy(item, Some(&nanos))
    }

    /// Returns the data of the parts, with their numbers.
    fn pieces(self) -> Vec<(u64, Vec<u8>)> {
        let mut numbers = self.numbers.clone().into_iter();
        let mut pieces = Vec::new();
        self.each(&mut |item| {
            pieces.extend(numbers.next().map(|number| (number, payload(&item.record).to_owned())));
        });
        pieces
    }

    fn each(mut self, sink: &mut impl FnMut(&Item<'_>)) {
        let archive = std::mem::take(self.archive.writer().output_mut());
        let mut reader = Reader::new(&archive[..]);
        while let Ok(Some(item)) = reader.next() {
            if let Record::Blob(_) | Record::LargeBlob(_) = item.record {
                sink(&item);
            }
        }
    }
}

/// Passes a whole blob on, without the numbers of its parts.
fn sink_whole(item: &Item<'_>, name: &str, data: &[u8], sink: &mut impl FnMut(&Item<'_>)) {
    let mut room = rewrite::room();
    let arguments = item.record.arguments();
    let is_number = |name: &str| matches!(name, "part" | "parts");
    let others = arguments.iter().filter(|argument| !is_number(&item.text(argument.name)));
    let count = room.iter_mut().zip(others).map(|(place, argument)| *place = argument).count();
    let others = room.get(..count).unwrap_or_default().into();
    let record = match item.record {
        Record::Blob(blob) => Record::Blob(trace_format::Blob { payload: data, ..blob }),
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

/// Returns a name without the number of its part, the number and how many there are.
fn numbered(name: &str) -> Option<(&str, u64, u64)> {
    let (name, numbers) = name.strip_suffix(')')?.rsplit_once(" (")?;
    let (number, count) = numbers.split_once('/')?;
    Some((name, number.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, Blob, LargeBlobEvent, Thread, Value};

    use super::*;
    use crate::testing::archive;

    /// Returns what comes out, as names, arguments and the payload's length and first bytes.
    fn joined(records: &[Record<'_>]) -> Vec<String> {
        let (mut blobs, mut found) = (Blobs::default(), Vec::new());
        let mut sink = |item: &Item<'_>| {
            let mut line = String::new();
            crate::text::line(&mut line, item).unwrap();
            let first = payload(&item.record).chunks(32_000).map(|part| part[0].to_string());
            let line = line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
            found.push(format!("{line}: {}", first.collect::<Vec<_>>().join(" ")));
        };
        let archive = archive(records);
        let mut reader = Reader::new(&archive[..]);
        while let Some(item) = reader.next().unwrap() {
            if let Record::Blob(_) | Record::LargeBlob(_) = item.record {
                blobs.push(&item, &mut sink).unwrap();
            }
        }
        blobs.finish(&mut sink);
        found
    }

    fn blob<'a>(name: &'a str, payload: &'a [u8]) -> Record<'a> {
        Blob { name: name.into(), blob_type: BlobType::DATA, payload }.into()
    }

    #[test]
    fn parts_of_one_name() {
        let full = [1, 2, 3].map(|byte| vec![byte; MAX_BLOB_BYTES]);
        let records =
            [blob("a", &full[0]), blob("b", &full[1]), blob("a", &full[2]), blob("a", b"\x04")];
        let expected = ["blob \"a\" data 64001 bytes: 1 3 4", "blob \"b\" data 32000 bytes: 2"];
        assert_eq!(joined(&records), expected);
        assert_eq!(joined(&[blob("a", b"\x04"), blob("a", b"\x05")]).len(), 2);
        let more = [blob(carried::MORE, &full[0]), blob(carried::MORE, &full[0])];
        assert_eq!(joined(&more).len(), 2, "these are put together elsewhere");
    }

    #[test]
    fn parts_with_numbers() {
        let arguments = |part| {
            [("part", part), ("parts", 3), ("own", 7)]
                .map(|(name, value)| Argument::new(name, Value::Uint32(value)))
        };
        let lists = [3, 1, 2].map(arguments);
        let event = |list: &'static [Argument<'static>]| LargeBlobEvent {
            ticks: 5,
            thread: Thread::Inline(ThreadKoids::new(1, 2)),
            arguments: list.into(),
        };
        let lists: Vec<&'static [Argument<'static>]> =
            lists.into_iter().map(|list| &Box::leak(Box::new(list))[..]).collect();
        let (category, name) = ("c".into(), "n".into());
        let part = |list, payload| -> Record<'static> {
            LargeBlob { category, name, event: Some(event(list)), payload }.into()
        };
        let records = [part(lists[0], b"\x03"), part(lists[1], b"\x01"), part(lists[2], b"\x02")];
        let place = r#"large-blob 1/2 0.000000005s "c" "n""#;
        assert_eq!(joined(&records), [format!(r#"{place} 3 bytes {{"own": 7}}: 1"#)]);
        let expected = format!(r#"{place} 1 bytes {{"part": 3, "parts": 3, "own": 7}}: 3"#);
        assert_eq!(joined(&records[..1]), [expected], "without the others it stays a part");
    }

    #[test]
    fn parts_with_numbers_in_their_names() {
        let part = |name: &'static str, payload| -> Record<'static> {
            LargeBlob { category: "c".into(), name: name.into(), event: None, payload }.into()
        };
        let records = [part("n (1/2)", b"\x01"), part("n", b"\x09"), part("n (2/2)", b"\x02")];
        let expected = [r#"large-blob "c" "n" 1 bytes: 9"#, r#"large-blob "c" "n" 2 bytes: 1"#];
        assert_eq!(joined(&records), expected);
    }
}
