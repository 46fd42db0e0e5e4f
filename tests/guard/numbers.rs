//! The numbers in an archive.

use std::path::Path;

use trace_format::{EventKind, Reader, Record, Value};

use crate::program::THREADS;

/// The numbers of each thread, in the archive's order.
#[derive(Debug)]
pub(crate) struct Numbers {
    /// For each thread the first and the last, between which all are there once.
    ranges: Vec<Option<(u64, u64)>>,
    gaps: Vec<String>,
}

impl Numbers {
    /// Reads an archive, of which every record has to be well-formed.
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).expect("the archive is there");
        let mut numbers = Self { ranges: vec![None; THREADS as usize], gaps: Vec::new() };
        let mut reader = Reader::new(bytes.as_slice());
        while let Some(item) = reader.next().expect("the archive is well-formed") {
            let Record::Event(event) = &item.record else { continue };
            let EventKind::Counter { id } = event.kind else { continue };
            assert_eq!(
                (&*item.text(event.category), &*item.text(event.name)),
                ("guard", "counted")
            );
            let argument = event.arguments.iter().next().expect("a counter has an argument");
            let Value::Uint64(number) = argument.value else { panic!("{argument:?}") };
            numbers.take(id as usize, number);
        }
        let stats = reader.stats();
        assert_eq!((stats.bad_records, stats.unknown_records), (0, 0));
        assert_eq!((stats.unknown_string_refs, stats.unknown_thread_refs), (0, 0));
        numbers
    }

    fn take(&mut self, thread: usize, number: u64) {
        let (first, last) = self.ranges[thread].unwrap_or((number, number - 1));
        if number != last + 1 {
            self.gaps.push(format!("thread {thread}: {number} after {last}"));
        }
        self.ranges[thread] = Some((first, number));
    }

    /// Checks that there is no gap and no number twice, and that what is known to be recorded is there:
    /// from the first on, but in a circular buffer.
    pub(crate) fn check(&self, mode: &str, known: &[u64], context: &str) {
        assert!(self.gaps.is_empty(), "{context}: {:?}", self.gaps);
        for (range, known) in self.ranges.iter().zip(known) {
            let (first, last) = range.unwrap_or_else(|| panic!("{context}: no number of {known}"));
            assert!(last >= *known, "{context}: ends with {last} of {known}");
            assert!(first == 1 || mode == "circular", "{context}: begins with {first}");
        }
    }

    /// Whether each thread's numbers are there without a gap and all greater than those of `other`.
    pub(crate) fn is_later_than(&self, other: &Self) -> bool {
        let pairs = self.ranges.iter().zip(&other.ranges);
        let later = |(own, others): (&Option<(u64, u64)>, &Option<(u64, u64)>)| match (own, others)
        {
            (Some((first, _)), Some((_, last))) => first > last,
            _ => false,
        };
        self.gaps.is_empty() && pairs.map(later).all(|later| later)
    }
}
