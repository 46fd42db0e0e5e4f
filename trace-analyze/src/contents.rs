//! What an archive contains: categories, names and argument names, processes and threads.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::{json, Value as Json};
use trace_format::{Item, ReadError, Reader, Record, ThreadKoids};

use crate::catalog::Catalog;
use crate::own::{is_added, is_written_anchor};
use crate::schedule::threads::MissingSwitches;
use crate::{arguments, exact, Damage, Kinds};

/// The most rows of each kind. Events beyond them are counted.
const MAX_ROWS: usize = 10_000;

/// The most bytes of names and examples.
const MAX_BYTES: usize = 16 << 20;

/// The most characters of an example.
const MAX_EXAMPLE: usize = 40;

/// The contents of an archive. Events that the archive's writer added are ignored.
#[derive(Debug, Default)]
pub struct Contents {
    /// The time of the first event and of the last one, in nanoseconds.
    pub span: Option<(u64, u64)>,
    /// The end of the recording, if it is later: the last clock anchor.
    pub recorded_until: Option<u64>,
    /// The numbers of records by kind.
    pub kinds: Kinds,
    /// The number of events of each category and name.
    pub names: BTreeMap<(String, String), u64>,
    /// The arguments by category and name of their events, and by their own name.
    pub arguments: BTreeMap<(String, String, String), Arguments>,
    /// The number of events of each thread.
    pub threads: BTreeMap<ThreadKoids, Thread>,
    /// Events and arguments without a row, because there are too many rows or bytes of names.
    pub left_out: u64,
    /// Bytes of names and examples.
    bytes: usize,
    /// Missing and unreadable data.
    pub damage: Damage,
}

/// The arguments of one name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Their number.
    pub count: u64,
    /// The first value as text, cut.
    pub example: String,
}

/// A thread with events.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// The name of its process, or an empty string.
    pub process_name: String,
    /// Its name, or an empty string.
    pub name: String,
    /// The number of its events.
    pub events: u64,
}

/// Reads the contents of an archive.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn read<R: Read>(reader: Reader<R>) -> Result<Contents, ReadError> {
    let mut contents = Contents::default();
    let (mut catalog, mut missing) = (Catalog::default(), MissingSwitches::default());
    let damage = Damage::of_all(reader, |item| {
        catalog.note(item);
        contents.kinds.count(item);
        contents.record(item);
        missing.note(item);
    })?;
    contents.kinds.missing_switches = missing.count();
    let last = contents.span.map(|(_, last)| last);
    contents.recorded_until =
        contents.recorded_until.filter(|until| last.is_some_and(|last| *until > last));
    for (koids, thread) in &mut contents.threads {
        catalog.process_name(koids.process).clone_into(&mut thread.process_name);
        catalog.thread_name(*koids).clone_into(&mut thread.name);
    }
    Ok(Contents { damage, ..contents })
}

/// Reads the categories and names of all events and large blobs of an archive, as labels.
///
/// # Errors
///
/// The input is not an archive, or reading it failed.
pub fn labels<R: Read>(reader: Reader<R>) -> Result<Catalog, ReadError> {
    let mut catalog = Catalog::default();
    Damage::of_all(reader, |item| catalog.note_labels(item))?;
    Ok(catalog)
}

impl Contents {
    fn record(&mut self, item: &Item<'_>) {
        let Record::Event(event) = &item.record else { return };
        let nanos = item.nanos(event.ticks);
        if is_added(item, event) {
            if is_written_anchor(item, event) {
                self.recorded_until = self.recorded_until.max(Some(nanos));
            }
            return;
        }
        let (from, to) = self.span.unwrap_or((nanos, nanos));
        self.span = Some((from.min(nanos), to.max(nanos)));
        let text = |text| item.text(text).into_owned();
        let (category, name) = (text(event.category), text(event.name));
        for argument in &event.arguments {
            let key = (category.clone(), name.clone(), text(argument.name));
            let bytes = key.0.len() + key.1.len() + key.2.len() + MAX_EXAMPLE;
            match row(&mut self.arguments, key, bytes, &mut self.bytes) {
                Some(row) => {
                    if row.count == 0 {
                        row.example = example(&arguments::to_json(item, argument.value));
                    }
                    row.count += 1;
                }
                None => self.left_out += 1,
            }
        }
        let bytes = category.len() + name.len();
        match row(&mut self.names, (category, name), bytes, &mut self.bytes) {
            Some(count) => *count += 1,
            None => self.left_out += 1,
        }
        match row(&mut self.threads, item.thread(event.thread), 0, &mut self.bytes) {
            Some(thread) => thread.events += 1,
            None => self.left_out += 1,
        }
    }

    /// Returns the contents as a JSON object, for programs.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let names = self.names.iter().map(|((category, name), events)| {
            json!({ "category": category, "name": name, "events": events })
        });
        let arguments = self.arguments.iter().map(|((category, name, key), row)| {
            let Arguments { count, example } = row;
            json!({ "category": category, "name": name, "key": key, "count": count, "example": example })
        });
        let threads = self.threads.iter().map(|(koids, thread)| {
            json!({
                "process": exact(koids.process),
                "thread": exact(koids.thread),
                "process_name": thread.process_name,
                "thread_name": thread.name,
                "events": thread.events,
            })
        });
        json!({
            "first_ns": self.span.map(|span| span.0),
            "last_ns": self.span.map(|span| span.1),
            "recorded_until_ns": self.recorded_until,
            "kinds": self.kinds.to_json(),
            "names": names.collect::<Vec<_>>(),
            "arguments": arguments.collect::<Vec<_>>(),
            "threads": threads.collect::<Vec<_>>(),
        })
    }
}

/// Returns the row with a key. Returns `None` if there are too many rows, or if the `bytes` of a
/// new row exceed the limit; `used` counts them.
fn row<'r, K: Ord, V: Default>(
    rows: &'r mut BTreeMap<K, V>,
    key: K,
    bytes: usize,
    used: &mut usize,
) -> Option<&'r mut V> {
    if !rows.contains_key(&key) {
        if rows.len() >= MAX_ROWS || *used + bytes > MAX_BYTES {
            return None;
        }
        *used += bytes;
    }
    Some(rows.entry(key).or_default())
}

fn example(value: &Json) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_EXAMPLE) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{Argument, Event, EventKind, Value};

    use super::*;
    use crate::testing::{archive, event, THREAD};

    #[test]
    fn names_arguments_and_threads_are_counted() {
        let kind = EventKind::DurationBegin;
        let texts = ["a".repeat(100), "b".to_owned()];
        let arguments =
            texts.each_ref().map(|text| [Argument::new("url", Value::String((&**text).into()))]);
        let mut records: Vec<Record<'_>> =
            arguments.iter().map(|arguments| event(kind, arguments)).collect();
        records.push(event(EventKind::Instant { scope: None }, &[]));
        let contents = read(Reader::new(&*archive(&records))).unwrap();
        let [(label, 3)] = contents.names.iter().map(|(k, v)| (k, *v)).collect::<Vec<_>>()[..]
        else {
            panic!("{contents:?}")
        };
        let [((category, name, key), row)] = contents.arguments.iter().collect::<Vec<_>>()[..]
        else {
            panic!("{contents:?}")
        };
        assert_eq!(((category, name), &**key, row.count), ((&label.0, &label.1), "url", 2));
        assert!(row.example.starts_with("\"aaa") && row.example.ends_with('…'), "{row:?}");
        assert_eq!(contents.threads[&THREAD].events, 3);
        assert_eq!(contents.to_json()["arguments"][0]["key"], "url");
        let catalog = labels(Reader::new(&*archive(&records))).unwrap();
        assert_eq!(catalog.label_texts().collect::<Vec<_>>(), [(&*label.0, &*label.1)]);
    }

    #[test]
    fn rows_are_limited() {
        let (mut rows, mut used) = (BTreeMap::<usize, u64>::new(), 0);
        let added = (0..MAX_ROWS + 5).filter(|key| row(&mut rows, *key, 1, &mut used).is_some());
        assert_eq!((added.count(), used), (MAX_ROWS, MAX_ROWS));
        assert!(row(&mut rows, 7, 1, &mut used).is_some());
    }

    #[test]
    fn the_bytes_of_names_are_limited() {
        let names: Vec<String> =
            (0..MAX_BYTES / 10_000 + 5).map(|number| format!("{number:0>10000}")).collect();
        let kind = EventKind::Instant { scope: None };
        let named = |name| match event(kind, &[]) {
            Record::Event(event) => Record::Event(Event { name, ..event }),
            other => other,
        };
        let records: Vec<_> = names.iter().map(|name| named((&**name).into())).collect();
        let contents = read(Reader::new(&*archive(&records))).unwrap();
        let bytes: usize =
            contents.names.keys().map(|(category, name)| category.len() + name.len()).sum();
        assert!(bytes <= MAX_BYTES && bytes > MAX_BYTES - 20_000, "{bytes}");
        assert_eq!(contents.names.len() as u64 + contents.left_out, names.len() as u64);
    }
}
