//! The numbers in an archive.

use std::io::Read;
use std::path::Path;

use trace_format::audit::Audit;
use trace_format::{EventKind, Reader, Record, Value};

use crate::program::THREADS;

/// The numbers of each thread, in the archive's order.
#[derive(Debug)]
pub(crate) struct Numbers {
    threads: Vec<Counted>,
    /// Records that the program dropped because its buffer was full, as reported in the archive.
    dropped: u64,
    /// Older rolling buffers or blocks that are not in the archive, as it reports.
    overwritten: u64,
}

/// A thread's numbers in the archive.
#[derive(Debug, Default)]
struct Counted {
    first: u64,
    last: u64,
    /// Their count.
    number: u64,
    /// Numbers that are repeated or out of order.
    out_of_order: Vec<u64>,
}

impl Counted {
    fn take(&mut self, number: u64) {
        if number <= self.last {
            self.out_of_order.push(number);
        }
        if self.number == 0 {
            self.first = number;
        }
        self.last = number;
        self.number += 1;
    }

    /// Returns how many of the first `known` numbers are missing. In a circular buffer, those
    /// before the first one are not counted.
    fn missing(&self, mode: &str, known: u64) -> u64 {
        let first = if mode == "circular" { self.first } else { 1 };
        (self.last.max(known) + 1 - first).saturating_sub(self.number)
    }
}

impl Numbers {
    /// Reads an archive. Each record must be well-formed.
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).expect("the archive is there");
        Self::read_from(Reader::new(bytes.as_slice()))
    }

    /// Reads an archive, or a log as an archive.
    pub(crate) fn read_from(mut reader: Reader<impl Read>) -> Self {
        let threads = (0..THREADS).map(|_| Counted::default()).collect();
        let mut numbers = Self { threads, dropped: 0, overwritten: 0 };
        let mut audit = Audit::default();
        while let Some(item) = reader.next().expect("the archive is well-formed") {
            audit.item(&item);
            let Record::Event(event) = &item.record else { continue };
            let argument = |index| event.arguments.iter().nth(index).map(|argument| argument.value);
            match (&*item.text(event.category), &*item.text(event.name), event.kind) {
                ("guard", "counted", EventKind::Counter { id }) => {
                    numbers.threads[id as usize].take(number(argument(0)));
                }
                ("trace", "records dropped", _) => numbers.dropped += number(argument(1)),
                ("trace", "older records overwritten", _) => {
                    numbers.overwritten += number(argument(0));
                }
                ("trace", _, _) | ("xray", "CPU" | "wall clock", _) => {}
                other => panic!("expected numbers and losses, found {other:?}"),
            }
        }
        let stats = reader.stats();
        assert_eq!((stats.bad_records, stats.unknown_records), (0, 0));
        assert_eq!(audit, Audit::default());
        numbers
    }

    /// Checks that no number is repeated, and that each recorded number is in the archive or
    /// reported as dropped. Returns whether no number was dropped.
    pub(crate) fn check(&self, mode: &str, known: &[u64], context: &str) -> bool {
        assert!(self.threads.iter().all(|it| it.out_of_order.is_empty()), "{context}: {self:?}");
        let missing = self.threads.iter().zip(known).map(|(it, known)| it.missing(mode, *known));
        assert!(missing.sum::<u64>() <= self.dropped, "{context}: {self:?} of {known:?}");
        assert!(self.threads.iter().all(|it| it.number != 0), "{context}: {self:?}");
        self.dropped == 0
    }

    /// Returns whether each thread has all numbers from its first to its last one.
    pub(crate) fn have_no_gap(&self) -> bool {
        self.threads.iter().all(|it| it.number == it.last + 1 - it.first)
    }

    /// Returns the numbers of dropped records and of overwritten parts that the archive reports.
    pub(crate) fn reported(&self) -> (u64, u64) {
        (self.dropped, self.overwritten)
    }

    /// Returns whether each thread has all numbers from 1 to `last`, in their order.
    pub(crate) fn has_all_up_to(&self, last: u64) -> bool {
        let is_complete = |thread: &Counted| {
            thread.out_of_order.is_empty()
                && thread.first == 1
                && thread.last >= last
                && thread.number + self.dropped >= thread.last
        };
        self.threads.iter().all(is_complete)
    }

    /// Returns whether each thread's numbers are all greater than those of `other`.
    pub(crate) fn is_later_than(&self, other: &Self) -> bool {
        let mut pairs = self.threads.iter().zip(&other.threads);
        pairs.all(|(own, earlier)| {
            own.out_of_order.is_empty() && own.number != 0 && own.first > earlier.last
        })
    }
}

fn number(value: Option<Value<'_>>) -> u64 {
    match value {
        Some(Value::Uint64(number)) => number,
        Some(Value::Uint32(number)) => number.into(),
        other => panic!("expected a number, found {other:?}"),
    }
}
