//! Events whose payload a program has written in parts: large blobs with the arguments `part` and
//! `parts`.

use std::collections::BTreeMap;

use trace_format::Record;

use super::payload;

/// The maximum memory of incomplete payloads, in bytes.
const MAX_WAITING_BYTES: usize = if cfg!(test) { 1 << 10 } else { 64 << 20 };

/// An event, of which each part has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The number of the thread.
    pub(super) thread: u32,
    pub(super) begin: u64,
    /// The type of a typed event.
    pub(super) event_type: Option<u16>,
}

/// The place of a part in the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    number: u32,
    count: u32,
}

impl Place {
    /// Returns the place of a part by its number, from 1 on, and the number of parts.
    pub(super) fn new(number: u32, count: u32) -> Option<Self> {
        (1..=count).contains(&number).then_some(Self { number, count })
    }
}

/// The result of a part.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Added {
    /// The payload that it has completed.
    pub(super) payload: Option<Vec<u8>>,
    /// Records of parts that stay separate.
    pub(super) separate: Vec<(Key, Vec<u8>)>,
}

/// Incomplete payloads.
#[derive(Debug, Default)]
pub(super) struct Parts {
    waiting: BTreeMap<Key, Waiting>,
    bytes: usize,
}

/// The parts of one payload: their records, as [`payload::bytes`] returns them, by number.
#[derive(Debug)]
struct Waiting {
    count: u32,
    records: BTreeMap<u32, Vec<u8>>,
}

impl Parts {
    /// Adds the record of a part. The parts of an event may arrive in any order.
    pub(super) fn add(&mut self, key: Key, place: Place, record: Vec<u8>) -> Added {
        let mut added = Added::default();
        let is_other = |waiting: &Waiting| {
            waiting.count != place.count || waiting.records.contains_key(&place.number)
        };
        if self.waiting.get(&key).is_some_and(is_other) {
            added.separate = self.take(key).map(|record| (key, record)).collect();
        }
        let new = || Waiting { count: place.count, records: BTreeMap::new() };
        let waiting = self.waiting.entry(key).or_insert_with(new);
        self.bytes += bytes_of(&record);
        waiting.records.insert(place.number, record);
        if waiting.records.len() as u64 == u64::from(waiting.count) {
            added.payload = Some(self.take(key).flat_map(payload_of).collect());
        } else if self.bytes > MAX_WAITING_BYTES {
            added.separate.extend(self.finish());
        }
        added
    }

    /// Returns the records of all incomplete payloads.
    pub(super) fn finish(&mut self) -> impl Iterator<Item = (Key, Vec<u8>)> {
        self.bytes = 0;
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting.flat_map(|(key, waiting)| {
            waiting.records.into_values().map(move |record| (key, record))
        })
    }

    /// Removes the parts of an event. Returns their records in the order of the payload.
    fn take(&mut self, key: Key) -> impl Iterator<Item = Vec<u8>> {
        let records = self.waiting.remove(&key).map(|waiting| waiting.records).unwrap_or_default();
        self.bytes -= records.values().map(bytes_of).sum::<usize>();
        records.into_values()
    }
}

/// Returns the memory of a part. Nodes of the maps are at least half full.
fn bytes_of(record: &Vec<u8>) -> usize {
    record.capacity() + 2 * (size_of::<Key>() + size_of::<Waiting>() + size_of::<Vec<u8>>())
}

fn payload_of(record: Vec<u8>) -> Vec<u8> {
    match payload::record(&record) {
        Some(Record::LargeBlob(blob)) => blob.payload.to_vec(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use trace_format::{encode, LargeBlob};

    use super::*;

    const KEY: Key = Key { thread: 1, begin: 5, event_type: Some(7) };

    fn record(payload: &[u8]) -> Vec<u8> {
        let blob = LargeBlob { category: "c".into(), name: "n".into(), event: None, payload };
        let mut words = Vec::new();
        encode::append(&mut words, &blob.into()).unwrap();
        encode::to_bytes(&words)
    }

    fn add(parts: &mut Parts, key: Key, numbers: [u32; 2], payload: &[u8]) -> Added {
        parts.add(key, Place::new(numbers[0], numbers[1]).unwrap(), record(payload))
    }

    fn joined(payload: &[u8]) -> Added {
        Added { payload: Some(payload.to_vec()), separate: Vec::new() }
    }

    #[test]
    fn parts_of_an_event_are_joined_in_any_order() {
        let mut parts = Parts::default();
        let other = Key { event_type: None, ..KEY };
        assert_eq!(add(&mut parts, KEY, [3, 3], b"c"), Added::default());
        assert_eq!(add(&mut parts, other, [1, 2], b"x"), Added::default());
        assert_eq!(add(&mut parts, KEY, [1, 3], b"a"), Added::default());
        assert_eq!(add(&mut parts, KEY, [2, 3], b"b"), joined(b"abc"));
        assert_eq!(add(&mut parts, other, [2, 2], b"y"), joined(b"xy"));
        assert_eq!(add(&mut parts, KEY, [1, 1], b"z"), joined(b"z"));
        assert_eq!((parts.bytes, parts.finish().count()), (0, 0));
    }

    #[test]
    fn parts_of_an_incomplete_event_stay_separate() {
        let mut parts = Parts::default();
        assert_eq!(add(&mut parts, KEY, [1, 3], b"a"), Added::default());
        let separate = vec![(KEY, record(b"a"))];
        assert_eq!(add(&mut parts, KEY, [1, 2], b"b"), Added { payload: None, separate });
        let separate = vec![(KEY, record(b"b"))];
        assert_eq!(add(&mut parts, KEY, [1, 2], b"c"), Added { payload: None, separate });
        assert_eq!(parts.finish().collect::<Vec<_>>(), [(KEY, record(b"c"))]);
        assert_eq!((Place::new(0, 2), Place::new(3, 2)), (None, None));
    }

    #[test]
    fn incomplete_events_that_take_too_much_memory_stay_separate() {
        let mut parts = Parts::default();
        for begin in 0..1000 {
            let added = add(&mut parts, Key { begin, ..KEY }, [1, 2], b"a");
            assert_eq!(added.payload, None);
            if !added.separate.is_empty() {
                assert_eq!(added.separate.len() as u64, begin + 1);
                assert_eq!((parts.bytes, parts.waiting.len()), (0, 0));
                return;
            }
        }
        panic!("a thousand incomplete events wait");
    }
}
